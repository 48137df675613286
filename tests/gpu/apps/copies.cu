// copies: has the host copy bytes between its own memory, GPU 0 and GPU 1, in every way that CUDA knows. Of each copy whose ends differ it
// prints what a trace must hold, a GPU by its number and the host as -1:
//   copy KIND SOURCE DESTINATION BYTES ISSUER
// Copies within one GPU, within the host, of nothing, and copies that fail are made as well; these a trace must not hold. A copy that CUDA
// refuses on this machine is printed as "refused" instead.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "common.cuh"

constexpr size_t kBytes = 1 << 16;

bool all_right = true;

void said(const char* kind, int source, int destination, size_t bytes, int issuer = 0) {
    if (source != destination) std::printf("copy %s %d %d %zu %d\n", kind, source, destination, bytes, issuer);
}

// Says what a call did, and returns whether it did it. Status is cudaError_t or CUresult: 0 is success for both.
template <class Status>
bool done(Status status, const char* kind, int source, int destination, size_t bytes, int issuer = 0) {
    if (int(status) == 0) {
        said(kind, source, destination, bytes, issuer);
    } else {
        std::printf("refused %s %d %d %zu: error %d\n", kind, source, destination, bytes, int(status));
        cudaGetLastError();
    }
    return int(status) == 0;
}

void expect(bool right, const char* kind, int source, int destination, size_t bytes) {
    if (!right) std::fprintf(stderr, "copies: wrong bytes after %s %d %d %zu\n", kind, source, destination, bytes);
    all_right = all_right && right;
}

void synchronize() {
    for (const int gpu : {1, 0}) {
        CHECK(cudaSetDevice(gpu));
        CHECK(cudaDeviceSynchronize());
    }
}

// kBytes bytes somewhere.
struct Buffer {
    int gpu;  // or kHost
    unsigned char* bytes;

    operator unsigned char*() const { return bytes; }
    operator CUdeviceptr() const { return reinterpret_cast<CUdeviceptr>(bytes); }

    void set(int value) const {
        if (gpu == kHost) {
            std::memset(bytes, value, kBytes);
        } else {
            CHECK(cudaSetDevice(gpu));
            CHECK(cudaMemset(bytes, value, kBytes));
            synchronize();
        }
    }
    // Whether so many bytes have this value and all others are zero.
    bool holds(int value, size_t count) const {
        std::vector<unsigned char> found(bytes, bytes + (gpu == kHost ? kBytes : 0));
        if (gpu != kHost) {
            found.resize(kBytes);
            CHECK(cudaMemcpy(found.data(), bytes, kBytes, cudaMemcpyDeviceToHost));
            said("linear", gpu, kHost, kBytes);
        }
        return size_t(std::count(found.begin(), found.end(), value)) == count &&
               size_t(std::count(found.begin(), found.end(), 0)) == kBytes - count;
    }
};

Buffer on_host() { return {kHost, static_cast<unsigned char*>(std::malloc(kBytes))}; }

Buffer pinned_on_host() {
    void* bytes = nullptr;
    CHECK(cudaMallocHost(&bytes, kBytes));
    return {kHost, static_cast<unsigned char*>(bytes)};
}

Buffer on_gpu(int gpu) {
    void* bytes = nullptr;
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMalloc(&bytes, kBytes));
    CHECK(cudaSetDevice(0));
    return {gpu, static_cast<unsigned char*>(bytes)};
}

cudaStream_t stream_on_gpu(int gpu) {
    cudaStream_t stream;
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaSetDevice(0));
    return stream;
}

struct Machine {
    Buffer pageable = on_host(), pinned = pinned_on_host(), other_pinned = pinned_on_host();
    Buffer a = on_gpu(0), other_a = on_gpu(0), b = on_gpu(1);
    cudaStream_t stream = stream_on_gpu(0), stream_b = stream_on_gpu(1);
};

int fresh_value() {
    static int value = 0;
    return value = value % 255 + 1;
}

// `copy` is to take this number of bytes from one buffer to the other, and returns what CUDA said.
template <class Copy>
void move(const char* kind, const Buffer& to, const Buffer& from, size_t bytes, Copy copy, int issuer = 0) {
    const int value = fresh_value();
    from.set(value);
    to.set(0);
    const auto status = copy();
    synchronize();
    if (done(status, kind, from.gpu, to.gpu, bytes, issuer)) expect(to.holds(value, bytes), kind, from.gpu, to.gpu, bytes);
}

template <class Copy>
void move_all_ways(const char* kind, const Machine& m, size_t bytes, Copy copy) {
    const Buffer* const buffers[] = {&m.pageable, &m.pinned, &m.a, &m.other_a, &m.b};
    for (const Buffer* from : buffers)
        for (const Buffer* to : buffers)
            if (to != from) move(kind, *to, *from, bytes, [&] { return copy(*to, *from); });
}

// --- The runtime's calls ---

void runtime_linear(const Machine& m) {
    move_all_ways("linear", m, 1001, [](void* to, void* from) { return cudaMemcpy(to, from, 1001, cudaMemcpyDefault); });
    move_all_ways("linear", m, 1002, [&](void* to, void* from) { return cudaMemcpyAsync(to, from, 1002, cudaMemcpyDefault, m.stream); });
    move("linear", m.a, m.pageable, 1003, [&] { return cudaMemcpy(m.a, m.pageable, 1003, cudaMemcpyHostToDevice); });
    move("linear", m.pageable, m.b, 1004, [&] { return cudaMemcpy(m.pageable, m.b, 1004, cudaMemcpyDeviceToHost); });
    move("linear", m.b, m.a, 1005, [&] { return cudaMemcpy(m.b, m.a, 1005, cudaMemcpyDeviceToDevice); });
    move("linear", m.a, m.b, 1006, [&] { return cudaMemcpyPeer(m.a, 0, m.b, 1, 1006); });
    move("linear", m.b, m.a, 1007, [&] { return cudaMemcpyPeerAsync(m.b, 1, m.a, 0, 1007, m.stream); });
    move("linear", m.other_a, m.a, 1008, [&] { return cudaMemcpyPeer(m.other_a, 0, m.a, 0, 1008); });
    move("linear", m.a, m.pinned, 1009, [&] { return cudaMemcpyAsync(m.a, m.pinned, 1009, cudaMemcpyHostToDevice, m.stream); });
    move("linear", m.pinned, m.b, 1010, [&] { return cudaMemcpyAsync(m.pinned, m.b, 1010, cudaMemcpyDeviceToHost, m.stream); });
    // GPU 1 carries these out: it is current, or the stream is its own.
    const auto by_gpu_1 = [&] {
        CHECK(cudaSetDevice(1));
        return cudaMemcpy(m.a, m.b, 1011, cudaMemcpyDefault);
    };
    move("linear", m.a, m.b, 1011, by_gpu_1, 1);
    move("linear", m.a, m.b, 1012, [&] { return cudaMemcpyAsync(m.a, m.b, 1012, cudaMemcpyDefault, m.stream_b); }, 1);
    std::thread([&] { move("linear", m.b, m.a, 1013, [&] { return cudaMemcpy(m.b, m.a, 1013, cudaMemcpyDefault); }); }).join();
    // Nothing, and nothing that can be done.
    CHECK(cudaMemcpy(m.a, m.pageable, 0, cudaMemcpyHostToDevice));
    if (cudaMemcpy(nullptr, m.pageable, 1014, cudaMemcpyHostToDevice) == cudaSuccess) all_right = false;
    if (cudaMemcpy(m.pageable, nullptr, 1015, cudaMemcpyDeviceToHost) == cudaSuccess) all_right = false;
    cudaGetLastError();
}

void runtime_shaped(const Machine& m) {
    constexpr size_t kPitch = 512;
    move_all_ways("2d", m, 31 * 41, [](void* to, void* from) { return cudaMemcpy2D(to, kPitch, from, kPitch, 31, 41, cudaMemcpyDefault); });
    move_all_ways("2d", m, 31 * 43, [&](void* to, void* from) {
        return cudaMemcpy2DAsync(to, kPitch, from, 2 * kPitch, 31, 43, cudaMemcpyDefault, m.stream);
    });
    const auto box = [](void* to, void* from, size_t depth) {
        cudaMemcpy3DParms box{};
        box.srcPtr = make_cudaPitchedPtr(from, kPitch, kPitch, 12);
        box.dstPtr = make_cudaPitchedPtr(to, kPitch, kPitch, 12);
        box.srcPos = make_cudaPos(1, 2, 1);
        box.extent = make_cudaExtent(33, 7, depth);
        box.kind = cudaMemcpyDefault;
        return box;
    };
    move_all_ways("3d", m, 33 * 7 * 3, [&](void* to, void* from) {
        const cudaMemcpy3DParms described = box(to, from, 3);
        return cudaMemcpy3D(&described);
    });
    move_all_ways("3d", m, 33 * 7 * 5, [&](void* to, void* from) {
        const cudaMemcpy3DParms described = box(to, from, 5);
        return cudaMemcpy3DAsync(&described, m.stream);
    });
    cudaMemcpy3DPeerParms peers{};
    peers.srcPtr = make_cudaPitchedPtr(m.a, kPitch, kPitch, 12);
    peers.dstPtr = make_cudaPitchedPtr(m.b, kPitch, kPitch, 12);
    peers.dstDevice = 1;
    peers.extent = make_cudaExtent(33, 7, 6);
    move("3d", m.b, m.a, 33 * 7 * 6, [&] { return cudaMemcpy3DPeer(&peers); });
    peers.extent = make_cudaExtent(33, 7, 8);
    move("3d", m.b, m.a, 33 * 7 * 8, [&] { return cudaMemcpy3DPeerAsync(&peers, m.stream); });
}

__device__ unsigned char variable[4096];

// A variable of this program is on each GPU; it was never allocated by a call.
void variables(const Machine& m) {
    for (const int gpu : {0, 1}) {
        const int value = fresh_value();
        m.pinned.set(value);
        m.pageable.set(0);
        CHECK(cudaSetDevice(gpu));
        void* address = nullptr;
        CHECK(cudaGetSymbolAddress(&address, variable));
        CHECK(cudaMemcpyToSymbol(variable, m.pinned, 1101));
        said("linear", kHost, gpu, 1101, gpu);
        CHECK(cudaMemcpy(m.a, address, 1101, cudaMemcpyDefault));
        said("linear", gpu, 0, 1101, gpu);
        CHECK(cudaMemcpyFromSymbol(m.pageable, variable, 1101));
        said("linear", gpu, kHost, 1101, gpu);
        CHECK(cudaSetDevice(0));
        expect(m.pageable.holds(value, 1101), "variable", kHost, gpu, 1101);
    }
}

#if CUDART_VERSION >= 12080
// The copies of a batch have no order: none uses what another writes.
struct Batched {
    const Buffer& to;
    const Buffer& from;
    size_t bytes;
};

void batch(const Machine& m, const std::vector<Batched>& copies) {
    const int value = fresh_value();
    std::vector<void*> to, from;
    std::vector<size_t> sizes;
    for (const Batched& copy : copies) {
        copy.from.set(value);
        copy.to.set(0);
        to.push_back(copy.to.bytes);
        from.push_back(copy.from.bytes);
        sizes.push_back(copy.bytes);
    }
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t first = 0;
#if CUDART_VERSION >= 13000
    const cudaError_t status = cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), sizes.size(), &attributes, &first, 1, m.stream);
#else
    size_t failed = 0;
    const cudaError_t status =
        cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), sizes.size(), &attributes, &first, 1, &failed, m.stream);
#endif
    synchronize();
    for (const Batched& copy : copies)
        if (done(status, "batch", copy.from.gpu, copy.to.gpu, copy.bytes))
            expect(copy.to.holds(value, copy.bytes), "batch", copy.from.gpu, copy.to.gpu, copy.bytes);
}

cudaMemcpy3DOperand operand(const Buffer& buffer) {
    cudaMemcpy3DOperand operand{};
    operand.type = cudaMemcpyOperandTypePointer;
    operand.op.ptr.ptr = buffer.bytes;
    return operand;
}

cudaMemcpy3DOperand operand(cudaArray_t array) {
    cudaMemcpy3DOperand operand{};
    operand.type = cudaMemcpyOperandTypeArray;
    operand.op.array.array = array;
    return operand;
}

cudaError_t box_batch(const Machine& m, cudaMemcpy3DOperand to, cudaMemcpy3DOperand from, cudaExtent extent) {
    cudaMemcpy3DBatchOp op{};
    op.src = from;
    op.dst = to;
    op.extent = extent;
    op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
#if CUDART_VERSION >= 13000
    return cudaMemcpy3DBatchAsync(1, &op, 0, m.stream);
#else
    size_t failed = 0;
    return cudaMemcpy3DBatchAsync(1, &op, &failed, 0, m.stream);
#endif
}

void batches(const Machine& m) {
    batch(m, {{m.b, m.a, 1201}, {m.other_a, m.a, 1202}});
    batch(m, {{m.b, m.pinned, 1203}, {m.other_pinned, m.a, 1204}});
    // Between addresses an extent is in bytes, with an array in its elements.
    move("batch", m.b, m.a, 11 * 5 * 3, [&] { return box_batch(m, operand(m.b), operand(m.a), make_cudaExtent(11, 5, 3)); });
    cudaArray_t array;
    const cudaChannelFormatDesc pairs = cudaCreateChannelDesc<float2>();
    CHECK(cudaMalloc3DArray(&array, &pairs, make_cudaExtent(16, 8, 4)));
    constexpr size_t kSlice = 16 * 8 * sizeof(float2);
    const int value = fresh_value();
    m.pinned.set(value);
    m.other_pinned.set(0);
    if (done(box_batch(m, operand(array), operand(m.pinned), make_cudaExtent(16, 8, 4)), "batch", kHost, 0, 4 * kSlice) &&
        done(box_batch(m, operand(m.other_pinned), operand(array), make_cudaExtent(16, 8, 3)), "batch", 0, kHost, 3 * kSlice)) {
        synchronize();
        expect(m.other_pinned.holds(value, 3 * kSlice), "batch", 0, kHost, 3 * kSlice);
    }
    CHECK(cudaFreeArray(array));
}
#else
void batches(const Machine&) { std::puts("not tried: batches need CUDA 12.8"); }
#endif

// --- The driver's calls, by the names of its library's symbols ---

void check(CUresult status, const char* call, const char* file, int line) {
    if (status == CUDA_SUCCESS) return;
    std::fprintf(stderr, "%s:%d: %s: error %d\n", file, line, call, int(status));
    std::exit(1);
}

template <class Function>
Function* symbol(const char* name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    void* const found = library ? dlsym(library, name) : nullptr;
    if (!found) {
        std::fprintf(stderr, "copies: no %s in libcuda.so.1\n", name);
        std::exit(1);
    }
    return reinterpret_cast<Function*>(found);
}

#define SYMBOL_TEXT(name) #name
#define SYMBOL_NAME(name) SYMBOL_TEXT(name)
// cuda.h renames a call to the symbol of its present version.
#define DRIVER(call) symbol<decltype(call)>(SYMBOL_NAME(call))
#define DRIVER_PER_THREAD(call, ending) symbol<decltype(call)>(SYMBOL_NAME(call) ending)

CUcontext context_of(int gpu) {
    CUcontext context = nullptr;
    CHECK(cudaSetDevice(gpu));
    CHECK(DRIVER(cuCtxGetCurrent)(&context));
    CHECK(cudaSetDevice(0));
    return context;
}

void driver_linear(const Machine& m) {
    const CUcontext gpu0 = context_of(0), gpu1 = context_of(1);
    unsigned char* const host = m.pageable;
    unsigned char* const pinned = m.pinned;
    const CUdeviceptr a = m.a, b = m.b, other_a = m.other_a;
    const CUstream stream = m.stream;

    move("linear", m.a, m.pageable, 1301, [&] { return DRIVER(cuMemcpyHtoD)(a, host, 1301); });
    move("linear", m.a, m.pageable, 1302, [&] { return DRIVER_PER_THREAD(cuMemcpyHtoD, "_ptds")(a, host, 1302); });
    move("linear", m.a, m.pinned, 1303, [&] { return DRIVER(cuMemcpyHtoDAsync)(a, pinned, 1303, stream); });
    move("linear", m.a, m.pinned, 1304, [&] { return DRIVER_PER_THREAD(cuMemcpyHtoDAsync, "_ptsz")(a, pinned, 1304, nullptr); });
    move("linear", m.pageable, m.b, 1305, [&] { return DRIVER(cuMemcpyDtoH)(host, b, 1305); });
    move("linear", m.pageable, m.b, 1306, [&] { return DRIVER_PER_THREAD(cuMemcpyDtoH, "_ptds")(host, b, 1306); });
    move("linear", m.pinned, m.b, 1307, [&] { return DRIVER(cuMemcpyDtoHAsync)(pinned, b, 1307, stream); });
    move("linear", m.pinned, m.b, 1308, [&] { return DRIVER_PER_THREAD(cuMemcpyDtoHAsync, "_ptsz")(pinned, b, 1308, stream); });
    move("linear", m.b, m.a, 1309, [&] { return DRIVER(cuMemcpyDtoD)(b, a, 1309); });
    move("linear", m.b, m.a, 1310, [&] { return DRIVER_PER_THREAD(cuMemcpyDtoD, "_ptds")(b, a, 1310); });
    move("linear", m.b, m.a, 1311, [&] { return DRIVER(cuMemcpyDtoDAsync)(b, a, 1311, stream); });
    move("linear", m.b, m.a, 1312, [&] { return DRIVER_PER_THREAD(cuMemcpyDtoDAsync, "_ptsz")(b, a, 1312, stream); });
    move("linear", m.other_a, m.a, 1313, [&] { return DRIVER(cuMemcpyDtoD)(other_a, a, 1313); });
    move("linear", m.b, m.pageable, 1314, [&] { return DRIVER_PER_THREAD(cuMemcpy, "_ptds")(b, m.pageable, 1314); });
    move("linear", m.b, m.a, 1315, [&] { return DRIVER_PER_THREAD(cuMemcpyAsync, "_ptsz")(b, a, 1315, stream); });
    move("linear", m.b, m.a, 1316, [&] { return DRIVER(cuMemcpyPeer)(b, gpu1, a, gpu0, 1316); });
    move("linear", m.a, m.b, 1317, [&] { return DRIVER_PER_THREAD(cuMemcpyPeer, "_ptds")(a, gpu0, b, gpu1, 1317); });
    move("linear", m.b, m.a, 1318, [&] { return DRIVER(cuMemcpyPeerAsync)(b, gpu1, a, gpu0, 1318, stream); });
    move("linear", m.a, m.b, 1319, [&] { return DRIVER_PER_THREAD(cuMemcpyPeerAsync, "_ptsz")(a, gpu0, b, gpu1, 1319, stream); });
}

// A rectangle or box of 48-byte rows, so that its bytes tell which call it was.
template <class Description>
Description described(const Buffer& to, const Buffer& from, size_t rows) {
    const auto type = [](const Buffer& buffer) { return buffer.gpu == kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; };
    Description d{};
    d.srcMemoryType = type(from);
    d.srcHost = from;
    d.srcDevice = from;
    d.srcPitch = 512;
    d.dstMemoryType = type(to);
    d.dstHost = to;
    d.dstDevice = to;
    d.dstPitch = 1024;
    d.dstY = 1;
    d.WidthInBytes = 48;
    d.Height = rows;
    return d;
}

void driver_shaped(const Machine& m) {
    const auto rectangle = [](const Buffer& to, const Buffer& from, size_t rows) { return described<CUDA_MEMCPY2D>(to, from, rows); };
    const auto box = [](const Buffer& to, const Buffer& from, size_t rows) {
        CUDA_MEMCPY3D d = described<CUDA_MEMCPY3D>(to, from, rows);
        d.srcHeight = d.dstHeight = rows + 2;
        d.Depth = 2;
        return d;
    };
    const auto peers = [](const Buffer& to, const Buffer& from, size_t rows) {
        CUDA_MEMCPY3D_PEER d = described<CUDA_MEMCPY3D_PEER>(to, from, rows);
        d.srcContext = context_of(from.gpu);
        d.dstContext = context_of(to.gpu);
        d.srcHeight = d.dstHeight = rows + 2;
        d.Depth = 2;
        return d;
    };
    const auto flat = [&](const Buffer& to, const Buffer& from, size_t rows, auto copy) {
        const CUDA_MEMCPY2D d = rectangle(to, from, rows);
        move("2d", to, from, 48 * rows, [&] { return copy(&d); });
    };
    const auto deep = [&](const Buffer& to, const Buffer& from, size_t rows, auto copy) {
        const CUDA_MEMCPY3D d = box(to, from, rows);
        move("3d", to, from, 48 * rows * 2, [&] { return copy(&d); });
    };
    const auto between = [&](const Buffer& to, const Buffer& from, size_t rows, auto copy) {
        const CUDA_MEMCPY3D_PEER d = peers(to, from, rows);
        move("3d", to, from, 48 * rows * 2, [&] { return copy(&d); });
    };
    const CUstream stream = m.stream;
    flat(m.a, m.pageable, 11, DRIVER(cuMemcpy2D));
    flat(m.pinned, m.b, 12, DRIVER_PER_THREAD(cuMemcpy2D, "_ptds"));
    flat(m.b, m.pageable, 13, DRIVER(cuMemcpy2DUnaligned));
    flat(m.pageable, m.a, 14, DRIVER_PER_THREAD(cuMemcpy2DUnaligned, "_ptds"));
    flat(m.b, m.a, 15, [&](auto d) { return DRIVER(cuMemcpy2DAsync)(d, stream); });
    flat(m.a, m.b, 16, [&](auto d) { return DRIVER_PER_THREAD(cuMemcpy2DAsync, "_ptsz")(d, stream); });
    flat(m.other_a, m.a, 17, DRIVER(cuMemcpy2D));
    deep(m.a, m.pageable, 21, DRIVER(cuMemcpy3D));
    deep(m.pinned, m.b, 22, DRIVER_PER_THREAD(cuMemcpy3D, "_ptds"));
    deep(m.b, m.a, 23, [&](auto d) { return DRIVER(cuMemcpy3DAsync)(d, stream); });
    deep(m.a, m.b, 24, [&](auto d) { return DRIVER_PER_THREAD(cuMemcpy3DAsync, "_ptsz")(d, stream); });
    between(m.b, m.a, 25, DRIVER(cuMemcpy3DPeer));
    between(m.a, m.b, 26, DRIVER_PER_THREAD(cuMemcpy3DPeer, "_ptds"));
    between(m.b, m.a, 27, [&](auto d) { return DRIVER(cuMemcpy3DPeerAsync)(d, stream); });
    between(m.a, m.b, 28, [&](auto d) { return DRIVER_PER_THREAD(cuMemcpy3DPeerAsync, "_ptsz")(d, stream); });
}

struct Array {
    int gpu;
    CUarray handle;
};

Array array_on_gpu(int gpu) {
    constexpr size_t kWidth = 4096;
    cudaArray_t array;
    const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMallocArray(&array, &bytes, kWidth));
    CHECK(cudaSetDevice(0));
    return {gpu, reinterpret_cast<CUarray>(array)};
}

// Through an array and back to the host: `size` bytes go in, and as many come out.
template <class In, class Out>
void through_arrays(const Buffer& to, const Buffer& from, size_t bytes, In in, Out out) {
    const int value = fresh_value();
    from.set(value);
    to.set(0);
    in(bytes);
    out(bytes);
    synchronize();
    expect(to.holds(value, bytes), "array", from.gpu, to.gpu, bytes);
}

void arrays(const Machine& m) {
    const Array on_a = array_on_gpu(0), on_b = array_on_gpu(1);
    const CUarray array = on_a.handle;
    const CUstream stream = m.stream;
    unsigned char* const pageable = m.pageable;
    unsigned char* const pinned = m.pinned;
    unsigned char* const other_pinned = m.other_pinned;
    through_arrays(
        m.other_pinned, m.pageable, 1401, [&](size_t n) { done(DRIVER(cuMemcpyHtoA)(array, 0, pageable, n), "linear", kHost, 0, n); },
        [&](size_t n) { done(DRIVER(cuMemcpyAtoH)(other_pinned, array, 0, n), "linear", 0, kHost, n); });
    through_arrays(
        m.pageable, m.pinned, 1402,
        [&](size_t n) { done(DRIVER_PER_THREAD(cuMemcpyHtoA, "_ptds")(array, 0, pinned, n), "linear", kHost, 0, n); },
        [&](size_t n) { done(DRIVER_PER_THREAD(cuMemcpyAtoH, "_ptds")(pageable, array, 0, n), "linear", 0, kHost, n); });
    through_arrays(
        m.other_pinned, m.pinned, 1403,
        [&](size_t n) { done(DRIVER(cuMemcpyHtoAAsync)(array, 0, pinned, n, stream), "linear", kHost, 0, n); },
        [&](size_t n) { done(DRIVER(cuMemcpyAtoHAsync)(other_pinned, array, 0, n, stream), "linear", 0, kHost, n); });
    through_arrays(
        m.other_pinned, m.pinned, 1404,
        [&](size_t n) { done(DRIVER_PER_THREAD(cuMemcpyHtoAAsync, "_ptsz")(array, 0, pinned, n, stream), "linear", kHost, 0, n); },
        [&](size_t n) { done(DRIVER_PER_THREAD(cuMemcpyAtoHAsync, "_ptsz")(other_pinned, array, 0, n, stream), "linear", 0, kHost, n); });
    through_arrays(
        m.other_a, m.a, 1405, [&](size_t n) { done(DRIVER(cuMemcpyDtoA)(array, 0, m.a, n), "linear", 0, 0, n); },
        [&](size_t n) { done(DRIVER(cuMemcpyAtoD)(m.other_a, array, 0, n), "linear", 0, 0, n); });
    done(DRIVER(cuMemcpyDtoA)(array, 0, m.b, 1406), "linear", 1, 0, 1406);
    done(DRIVER(cuMemcpyAtoD)(m.b, array, 0, 1407), "linear", 0, 1, 1407);
    done(DRIVER(cuMemcpyAtoA)(on_b.handle, 0, array, 0, 1408), "linear", 0, 1, 1408);
    CUDA_MEMCPY3D_PEER d{};
    d.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    d.srcArray = array;
    d.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    d.dstArray = on_b.handle;
    d.WidthInBytes = 1409;
    d.Height = d.Depth = 1;
    done(DRIVER(cuMemcpy3DPeer)(&d), "3d", 0, 1, 1409);
    synchronize();
    for (const Array& one : {on_a, on_b}) CHECK(cudaFreeArray(reinterpret_cast<cudaArray_t>(one.handle)));
}

// --- Graphs: from the host over GPU 0 and GPU 1 back to the host ---

class Chain {
  public:
    explicit Chain(const Machine& machine) : m(machine) {}

    // Runs the graph this often. `last`: its last copy is made.
    void launch(cudaGraphExec_t executable, size_t bytes, int times, bool last = true) const {
        for (int i = 0; i < times; ++i) {
            const int value = fresh_value();
            m.pinned.set(value);
            for (const Buffer* buffer : {&m.a, &m.b, &m.other_pinned}) buffer->set(0);
            CHECK(cudaGraphLaunch(executable, m.stream));
            synchronize();
            said("graph", kHost, 0, bytes);
            said("graph", 0, 1, bytes);
            if (last) said("graph", 1, kHost, bytes);
            expect(m.other_pinned.holds(value, last ? bytes : 0), "graph", kHost, kHost, bytes);
        }
    }

    cudaGraph_t captured(size_t bytes) const {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeThreadLocal));
        CHECK(cudaMemcpyAsync(m.a, m.pinned, bytes, cudaMemcpyHostToDevice, m.stream));
        CHECK(cudaMemcpyAsync(m.b, m.a, bytes, cudaMemcpyDefault, m.stream));
        CHECK(cudaMemcpyAsync(m.other_a, m.a, bytes, cudaMemcpyDeviceToDevice, m.stream));  // within GPU 0
        CHECK(cudaMemcpyAsync(m.other_pinned, m.b, bytes, cudaMemcpyDeviceToHost, m.stream));
        CHECK(cudaStreamEndCapture(m.stream, &graph));
        return graph;
    }

    cudaGraph_t middle(size_t bytes) const {
        cudaGraph_t graph;
        cudaGraphNode_t node;
        CHECK(cudaGraphCreate(&graph, 0));
        CHECK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, m.b, m.a, bytes, cudaMemcpyDefault));
        return graph;
    }

    const Machine& m;
};

void graphs(const Machine& m) {
    const Chain chain(m);
    cudaGraphExec_t executable;

    const cudaGraph_t captured = chain.captured(1501);
    CHECK(cudaGraphInstantiateWithFlags(&executable, captured, 0));
    chain.launch(executable, 1501, 3);
    const cudaGraph_t recaptured = chain.captured(1502);
    cudaGraphExecUpdateResultInfo result;
    CHECK(cudaGraphExecUpdate(executable, recaptured, &result));
    chain.launch(executable, 1502, 2);
    CHECK(cudaGraphExecDestroy(executable));

    cudaGraph_t graph;
    cudaGraphNode_t first, held, last;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&first, graph, nullptr, 0, m.a, m.pinned, 1503, cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddChildGraphNode(&held, graph, &first, 1, chain.middle(1503)));
    CHECK(cudaGraphAddMemcpyNode1D(&last, graph, &held, 1, m.other_pinned, m.b, 1503, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    chain.launch(executable, 1503, 2);
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(executable, first, m.a, m.pinned, 1504, cudaMemcpyHostToDevice));
    CHECK(cudaGraphExecChildGraphNodeSetParams(executable, held, chain.middle(1504)));
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(executable, last, m.other_pinned, m.b, 1504, cudaMemcpyDeviceToHost));
    chain.launch(executable, 1504, 1);
    CHECK(cudaGraphNodeSetEnabled(executable, last, 0));
    chain.launch(executable, 1504, 2, false);
    CHECK(cudaGraphNodeSetEnabled(executable, last, 1));
    chain.launch(executable, 1504, 1);
    CHECK(cudaGraphDestroy(graph));  // the executable graph does not need it
    chain.launch(executable, 1504, 1);
    CHECK(cudaGraphExecDestroy(executable));
}

// --- Prefetches ---

cudaError_t prefetch(void* address, size_t bytes, int to, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
    const cudaMemLocation location{to == kHost ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, std::max(to, 0)};
    return cudaMemPrefetchAsync(address, bytes, location, 0, stream);
#else
    return cudaMemPrefetchAsync(address, bytes, to == kHost ? cudaCpuDeviceId : to, stream);
#endif
}

void prefetches(const Machine& m) {
    for (const int gpu : {0, 1}) {
        int possible = 0;
        CHECK(cudaDeviceGetAttribute(&possible, cudaDevAttrConcurrentManagedAccess, gpu));
        if (possible) continue;
        std::printf("not tried: GPU %d cannot prefetch\n", gpu);
        return;
    }
    constexpr size_t kManaged = 3 << 20;
    unsigned char* managed = nullptr;
    CHECK(cudaMallocManaged(&managed, kManaged));
    std::memset(managed, fresh_value(), kManaged);
    const unsigned char value = managed[0];
    int at = kHost;
    for (const int to : {0, 0, 1, kHost, 1}) {  // the second time, it is there
        CHECK(prefetch(managed, kManaged, to, m.stream));
        synchronize();
        said("prefetch", at, to, kManaged);
        at = to;
    }
    expect(size_t(std::count(managed, managed + kManaged, value)) == kManaged, "prefetch", kHost, at, kManaged);
    CHECK(cudaFree(managed));
#if CUDART_VERSION >= 13000
    void* ranges[] = {nullptr, nullptr, nullptr};
    size_t sizes[] = {1 << 20, 2 << 20, 4 << 20};
    for (int i = 0; i < 3; ++i) {
        CHECK(cudaMallocManaged(&ranges[i], sizes[i]));
        std::memset(ranges[i], value, sizes[i]);
    }
    cudaMemLocation to[] = {{cudaMemLocationTypeDevice, 0}, {cudaMemLocationTypeDevice, 1}};
    size_t first[] = {0, 1};
    CHECK(cudaMemPrefetchBatchAsync(ranges, sizes, 3, to, first, 2, 0, m.stream));
    synchronize();
    for (int i = 0; i < 3; ++i) said("prefetch", kHost, i == 0 ? 0 : 1, sizes[i]);
    for (int i = 0; i < 3; ++i) {
        const auto* bytes = static_cast<const unsigned char*>(ranges[i]);
        expect(size_t(std::count(bytes, bytes + sizes[i], value)) == sizes[i], "prefetch", kHost, i, sizes[i]);
        CHECK(cudaFree(ranges[i]));
    }
#endif
}

int main() {
    open_gpus("copies");
    CHECK(cudaSetDevice(0));
    const Machine m;
    runtime_linear(m);
    runtime_shaped(m);
    variables(m);
    batches(m);
    driver_linear(m);
    driver_shaped(m);
    arrays(m);
    graphs(m);
    prefetches(m);
    return verdict(all_right);
}
