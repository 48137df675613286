// memory [CASE...]: GPU 0 stores to and loads from every kind of memory that it reaches outside its own. Cases are of the
// table below and run in its order, all if none is named. Each prints how it ended: right, wrong, or not here.
//
// Case k, counted from 0, has n = 1000 + 32 k words. A visit is two launches of n threads in blocks of 32, so that the
// grid's size, 32 + k, tells the case. Traffic of a visit to memory of one owner; none where it is the issuer itself:
//   kernel  operation  accesses      lanes  bytes/lane  sectors
//   put     store      ceil(n / 32)  n      4           ceil(n / 8)    of n words that lie side by side
//   get     load       as put        n      4           as put         (what it loads goes to the GPU's own memory)
//
// The visits of each case, by GPU 0 unless said otherwise, with the owner of the memory:
//   mapping       1         virtual memory management
//   growing       1, 1, 1   a range with one, two and three chunks; thread i takes word i of chunk i % chunks
//   owners        0 to G-1  as growing, chunk c of GPU c for all G GPUs, in one visit
//   remapped      1, 0, 1   the same addresses, mapped anew to another GPU
//   numa          host      virtual memory management
//   pool          1         the default pool, opened before the allocation
//   own_pool      1         a pool of the program's, opened after the allocation
//   freed         1         freed in the stream's order, before the kernels have begun
//   captured      1, 1      allocated and freed in a captured graph that is launched twice
//   graph         1, 1      allocated and freed by nodes of a graph that is launched twice
//   pinned        host
//   mapped        host
//   portable      host      twice: by GPU 0 and by GPU 1
//   combined      host      write-combined
//   registered    host      two ranges, then the second once more without the first
//   managed_gpu   1         preferred there
//   managed_host  host      preferred there
//   prefetched    1, host, 0
//   device        1         and the memory of GPU 0 by GPU 1
//   pitch         1         rows of 100 words, their distance is printed
//   early         1         allocated before GPU 0 was used at all
// Up to prefetched no peer access has been enabled.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common.cuh"
#include "range.cuh"

constexpr uint32_t kBlock = 32;
constexpr uint32_t kColumns = 100;
constexpr size_t kPage = 2 << 20;

// Where word i lies.
struct Dense {
    __device__ size_t at(uint32_t i) const { return i; }
};

struct Rows {
    size_t distance;  // words
    __device__ size_t at(uint32_t i) const { return i / kColumns * distance + i % kColumns; }
};

struct Chunks {
    uint32_t chunks;
    size_t words;  // of a chunk
    __device__ size_t at(uint32_t i) const { return i % chunks * words + i; }
};

template <class Layout>
__global__ void put(uint32_t* words, uint32_t n, uint32_t first, Layout layout) {
    const uint32_t i = blockIdx.x * kBlock + threadIdx.x;
    if (i < n) words[layout.at(i)] = first + i;  // remote: put
}

template <class Layout>
__global__ void get(const uint32_t* words, uint32_t n, uint32_t* copy, Layout layout) {
    const uint32_t i = blockIdx.x * kBlock + threadIdx.x;
    if (i < n) copy[i] = words[layout.at(i)];  // remote: get
}

__global__ void delay(uint64_t nanoseconds) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}

// A GPU that stores to n words, loads them into its own memory, and looks whether they are what it stored.
class Visitor {
  public:
    explicit Visitor(uint32_t n, int gpu = 0) : n_(n), gpu_(gpu) {
        CHECK(cudaSetDevice(gpu_));
        CHECK(cudaMalloc(&copy_, bytes()));
        CHECK(cudaMemset(copy_, 0, bytes()));
        CHECK(cudaSetDevice(0));
    }
    ~Visitor() { CHECK(cudaFree(copy_)); }
    Visitor(const Visitor&) = delete;
    Visitor& operator=(const Visitor&) = delete;

    template <class Layout = Dense>
    void visit(uint32_t* words, Layout layout = {}) {
        launch(words, nullptr, layout);
        compare();
    }
    template <class Layout = Dense>
    void launch(uint32_t* words, cudaStream_t stream, Layout layout = {}) {
        first_ += 1000003;
        CHECK(cudaSetDevice(gpu_));
        put<<<blocks(), kBlock, 0, stream>>>(words, n_, first_, layout);
        CHECK(cudaGetLastError());
        get<<<blocks(), kBlock, 0, stream>>>(words, n_, copy_, layout);
        CHECK(cudaGetLastError());
        CHECK(cudaSetDevice(0));
    }
    // The same as two nodes of a graph, one after the other and both after the node `before`. Returns the last.
    cudaGraphNode_t add(cudaGraph_t graph, cudaGraphNode_t before, uint32_t* words) {
        first_ += 1000003;
        Dense layout;
        void* stored[] = {&words, &n_, &first_, &layout};
        void* loaded[] = {&words, &n_, &copy_, &layout};
        cudaKernelNodeParams kernel{};
        kernel.gridDim = dim3(blocks());
        kernel.blockDim = dim3(kBlock);
        cudaGraphNode_t store, load;
        kernel.func = reinterpret_cast<void*>(put<Dense>);
        kernel.kernelParams = stored;
        CHECK(cudaGraphAddKernelNode(&store, graph, &before, 1, &kernel));
        kernel.func = reinterpret_cast<void*>(get<Dense>);
        kernel.kernelParams = loaded;
        CHECK(cudaGraphAddKernelNode(&load, graph, &store, 1, &kernel));
        return load;
    }
    // Waits for the visit, compares, and forgets what was loaded.
    void compare() {
        std::vector<uint32_t> loaded(n_);
        CHECK(cudaSetDevice(gpu_));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(loaded.data(), copy_, bytes(), cudaMemcpyDeviceToHost));
        CHECK(cudaMemset(copy_, 0, bytes()));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaSetDevice(0));
        for (uint32_t i = 0; i < n_; ++i) right_ = right_ && loaded[i] == first_ + i;
    }
    size_t bytes() const { return n_ * sizeof(uint32_t); }
    bool right() const { return right_; }

  private:
    uint32_t blocks() const { return (n_ + kBlock - 1) / kBlock; }

    uint32_t n_;
    int gpu_;
    uint32_t first_ = 0;
    uint32_t* copy_ = nullptr;
    bool right_ = true;
};

Outcome mapping(uint32_t n) {
    Visitor visitor(n);
    const CUmemAllocationProp memory = memory_of_gpu(1);
    Range range(0, chunk_size(memory), 1);
    range.map(0, memory);
    visitor.visit(range.words());
    return outcome(visitor.right());
}

Outcome growing(uint32_t n) {
    Visitor visitor(n);
    const CUmemAllocationProp memory = memory_of_gpu(1);
    const size_t chunk = chunk_size(memory);
    Range range(0, chunk, 3);
    for (uint32_t chunks = 1; chunks <= 3; ++chunks) {
        range.map(chunks - 1, memory);
        visitor.visit(range.words(), Chunks{chunks, chunk / sizeof(uint32_t)});
    }
    return outcome(visitor.right());
}

Outcome owners(uint32_t n) {
    Visitor visitor(n);
    int gpus = 0;
    CHECK(cudaGetDeviceCount(&gpus));
    const size_t chunk = chunk_size(memory_of_gpu(0));
    Range range(0, chunk, gpus);
    for (int gpu = 0; gpu < gpus; ++gpu) range.map(gpu, memory_of_gpu(gpu));
    visitor.visit(range.words(), Chunks{uint32_t(gpus), chunk / sizeof(uint32_t)});
    return outcome(visitor.right());
}

Outcome remapped(uint32_t n) {
    Visitor visitor(n);
    Range range(0, chunk_size(memory_of_gpu(1)), 1);
    for (const int gpu : {1, 0, 1}) {
        range.map(0, memory_of_gpu(gpu));
        visitor.visit(range.words());
        range.unmap(0);
    }
    return outcome(visitor.right());
}

Outcome numa(uint32_t n) {
    if (!attribute(CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0)) return Outcome::not_here;
    const CUmemAllocationProp properties =
        memory_of(CU_MEM_LOCATION_TYPE_HOST_NUMA, std::max(0, attribute(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0)));
    const size_t chunk = chunk_size(properties);
    CUmemGenericAllocationHandle memory = 0;
    // A container may be denied memory of a node of its choice.
    if (DRIVER(cuMemCreate)(&memory, chunk, &properties, 0) != CUDA_SUCCESS) return Outcome::not_here;
    Visitor visitor(n);
    Range range(0, chunk, 1);
    range.map(0, memory);
    visitor.visit(range.words());
    return outcome(visitor.right());
}

bool pools_are_here() {
    int here = 1;
    for (int gpu = 0; gpu < 2 && here; ++gpu) CHECK(cudaDeviceGetAttribute(&here, cudaDevAttrMemoryPoolsSupported, gpu));
    return here != 0;
}

// That GPU 0 may load and store.
cudaMemAccessDesc open_to_gpu_0() {
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = 0;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    return access;
}

// What a pool, or a node of a graph, takes from GPU 1.
cudaMemPoolProps from_gpu_1() {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = 1;
    return properties;
}

// GPU 1's default pool, open to GPU 0.
cudaMemPool_t open_pool() {
    cudaMemPool_t open;
    const cudaMemAccessDesc access = open_to_gpu_0();
    CHECK(cudaDeviceGetDefaultMemPool(&open, 1));
    CHECK(cudaMemPoolSetAccess(open, &access, 1));
    return open;
}

Outcome pool(uint32_t n) {
    if (!pools_are_here()) return Outcome::not_here;
    open_pool();
    Visitor visitor(n);
    uint32_t* words = nullptr;
    cudaStream_t stream;
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocAsync(&words, visitor.bytes(), stream));
    CHECK(cudaStreamSynchronize(stream));
    visitor.visit(words);
    CHECK(cudaSetDevice(1));
    CHECK(cudaFreeAsync(words, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    return outcome(visitor.right());
}

Outcome own_pool(uint32_t n) {
    if (!pools_are_here()) return Outcome::not_here;
    Visitor visitor(n);
    cudaMemPool_t own;
    const cudaMemPoolProps properties = from_gpu_1();
    CHECK(cudaMemPoolCreate(&own, &properties));
    uint32_t* words = nullptr;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocFromPoolAsync(&words, visitor.bytes(), own, stream));
    CHECK(cudaStreamSynchronize(stream));
    const cudaMemAccessDesc access = open_to_gpu_0();
    CHECK(cudaMemPoolSetAccess(own, &access, 1));
    visitor.visit(words);
    CHECK(cudaFreeAsync(words, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(own));
    return outcome(visitor.right());
}

Outcome freed(uint32_t n) {
    if (!pools_are_here()) return Outcome::not_here;
    const cudaMemPool_t open = open_pool();
    Visitor visitor(n);
    uint32_t* words = nullptr;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocFromPoolAsync(&words, visitor.bytes(), open, stream));
    delay<<<1, 1, 0, stream>>>(200000000);
    CHECK(cudaGetLastError());
    visitor.launch(words, stream);
    CHECK(cudaFreeAsync(words, stream));
    visitor.compare();
    CHECK(cudaStreamDestroy(stream));
    return outcome(visitor.right());
}

void launch_twice(cudaGraph_t graph, Visitor& visitor) {
    cudaStream_t stream;
    cudaGraphExec_t executable;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (int k = 0; k < 2; ++k) {
        CHECK(cudaGraphLaunch(executable, stream));
        visitor.compare();
    }
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

Outcome captured(uint32_t n) {
    if (!pools_are_here()) return Outcome::not_here;
    const cudaMemPool_t open = open_pool();
    Visitor visitor(n);
    uint32_t* words = nullptr;
    cudaStream_t stream;
    cudaGraph_t recorded;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocFromPoolAsync(&words, visitor.bytes(), open, stream));
    visitor.launch(words, stream);
    CHECK(cudaFreeAsync(words, stream));
    CHECK(cudaStreamEndCapture(stream, &recorded));
    CHECK(cudaStreamDestroy(stream));
    launch_twice(recorded, visitor);
    return outcome(visitor.right());
}

Outcome graph(uint32_t n) {
    if (!pools_are_here()) return Outcome::not_here;
    Visitor visitor(n);
    const cudaMemAccessDesc access = open_to_gpu_0();
    cudaMemAllocNodeParams memory{};
    memory.poolProps = from_gpu_1();
    memory.accessDescs = &access;
    memory.accessDescCount = 1;
    memory.bytesize = visitor.bytes();
    cudaGraph_t built;
    cudaGraphNode_t allocation, release;
    CHECK(cudaGraphCreate(&built, 0));
    CHECK(cudaGraphAddMemAllocNode(&allocation, built, nullptr, 0, &memory));
    const cudaGraphNode_t last = visitor.add(built, allocation, static_cast<uint32_t*>(memory.dptr));
    CHECK(cudaGraphAddMemFreeNode(&release, built, &last, 1, memory.dptr));
    launch_twice(built, visitor);
    return outcome(visitor.right());
}

// Memory of the host at the address that GPUs use.
uint32_t* on_gpus(void* memory) {
    void* address = nullptr;
    CHECK(cudaHostGetDevicePointer(&address, memory, 0));
    return static_cast<uint32_t*>(address);
}

Outcome pinned(uint32_t n) {
    Visitor visitor(n);
    void* memory = nullptr;
    CHECK(cudaMallocHost(&memory, visitor.bytes()));
    visitor.visit(on_gpus(memory));
    CHECK(cudaFreeHost(memory));
    return outcome(visitor.right());
}

bool visit_host(std::vector<int> gpus, uint32_t n, unsigned flags) {
    void* memory = nullptr;
    CHECK(cudaHostAlloc(&memory, n * sizeof(uint32_t), flags));
    bool right = true;
    for (const int gpu : gpus) {
        Visitor visitor(n, gpu);
        visitor.visit(on_gpus(memory));
        right = right && visitor.right();
    }
    CHECK(cudaFreeHost(memory));
    return right;
}

Outcome mapped(uint32_t n) { return outcome(visit_host({0}, n, cudaHostAllocMapped)); }

Outcome portable(uint32_t n) { return outcome(visit_host({0, 1}, n, cudaHostAllocPortable | cudaHostAllocMapped)); }

Outcome combined(uint32_t n) { return outcome(visit_host({0}, n, cudaHostAllocWriteCombined | cudaHostAllocMapped)); }

// Neither range begins at a page of any size; the second lies on two pages of 2 MiB, the first on one of these.
Outcome registered(uint32_t n) {
    Visitor visitor(n);
    auto* const memory = static_cast<unsigned char*>(std::aligned_alloc(kPage, 2 * kPage));
    unsigned char* const ranges[] = {memory + 4160, memory + kPage - 2080};
    for (unsigned char* range : ranges) CHECK(cudaHostRegister(range, visitor.bytes(), cudaHostRegisterMapped));
    for (unsigned char* range : ranges) visitor.visit(on_gpus(range));
    CHECK(cudaHostUnregister(ranges[0]));
    visitor.visit(on_gpus(ranges[1]));
    CHECK(cudaHostUnregister(ranges[1]));
    std::free(memory);
    return outcome(visitor.right());
}

bool managed_memory_is_here() {
    int here = 1;
    for (int gpu = 0; gpu < 2 && here; ++gpu) CHECK(cudaDeviceGetAttribute(&here, cudaDevAttrConcurrentManagedAccess, gpu));
    return here != 0;
}

// A page of managed memory. A place is a GPU, or the host.
class Managed {
  public:
    static constexpr int kHost = cudaCpuDeviceId;

    Managed() {
        CHECK(cudaMallocManaged(&words, kPage));
        // GPU 0 loads and stores wherever the memory lies, without moving it.
        advise(cudaMemAdviseSetAccessedBy, 0);
    }
    ~Managed() { CHECK(cudaFree(words)); }
    Managed(const Managed&) = delete;
    Managed& operator=(const Managed&) = delete;

#if CUDART_VERSION >= 13000
    void advise(cudaMemoryAdvise advice, int place) { CHECK(cudaMemAdvise(words, kPage, advice, location(place))); }
    void prefetch(int place) {
        CHECK(cudaMemPrefetchAsync(words, kPage, location(place), 0, nullptr));
        CHECK(cudaDeviceSynchronize());
    }
    static cudaMemLocation location(int place) {
        cudaMemLocation location{};
        location.type = place == kHost ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
        location.id = place == kHost ? 0 : place;
        return location;
    }
#else
    void advise(cudaMemoryAdvise advice, int place) { CHECK(cudaMemAdvise(words, kPage, advice, place)); }
    void prefetch(int place) {
        CHECK(cudaMemPrefetchAsync(words, kPage, place, nullptr));
        CHECK(cudaDeviceSynchronize());
    }
#endif

    uint32_t* words = nullptr;
};

Outcome visit_preferred(uint32_t n, int place) {
    if (!managed_memory_is_here()) return Outcome::not_here;
    Visitor visitor(n);
    Managed memory;
    memory.advise(cudaMemAdviseSetPreferredLocation, place);
    visitor.visit(memory.words);
    return outcome(visitor.right());
}

Outcome managed_gpu(uint32_t n) { return visit_preferred(n, 1); }

Outcome managed_host(uint32_t n) { return visit_preferred(n, Managed::kHost); }

Outcome prefetched(uint32_t n) {
    if (!managed_memory_is_here()) return Outcome::not_here;
    Visitor visitor(n);
    Managed memory;
    for (const int place : {1, Managed::kHost, 0}) {
        memory.prefetch(place);
        visitor.visit(memory.words);
    }
    return outcome(visitor.right());
}

Outcome device(uint32_t n) {
    bool right = true;
    for (const int owner : {1, 0}) {
        Visitor visitor(n, 1 - owner);
        uint32_t* words = nullptr;
        CHECK(cudaSetDevice(owner));
        CHECK(cudaMalloc(&words, visitor.bytes()));
        visitor.visit(words);
        CHECK(cudaFree(words));
        right = right && visitor.right();
    }
    return outcome(right);
}

Outcome pitch(uint32_t n) {
    Visitor visitor(n);
    uint32_t* words = nullptr;
    size_t distance = 0;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMallocPitch(&words, &distance, kColumns * sizeof(uint32_t), (n + kColumns - 1) / kColumns));
    std::printf("pitch: %zu bytes\n", distance);
    visitor.visit(words, Rows{distance / sizeof(uint32_t)});
    CHECK(cudaFree(words));
    return outcome(visitor.right());
}

uint32_t* early_words = nullptr;

Outcome early(uint32_t n) {
    Visitor visitor(n);
    visitor.visit(early_words);
    return outcome(visitor.right());
}

struct Case {
    const char* name;
    Outcome (*run)(uint32_t n);
    bool opens_gpus;  // cudaMalloc's memory is not reached without
};

constexpr Case kCases[] = {
    {"mapping", mapping, false},
    {"growing", growing, false},
    {"owners", owners, false},
    {"remapped", remapped, false},
    {"numa", numa, false},
    {"pool", pool, false},
    {"own_pool", own_pool, false},
    {"freed", freed, false},
    {"captured", captured, false},
    {"graph", graph, false},
    {"pinned", pinned, false},
    {"mapped", mapped, false},
    {"portable", portable, false},
    {"combined", combined, false},
    {"registered", registered, false},
    {"managed_gpu", managed_gpu, false},
    {"managed_host", managed_host, false},
    {"prefetched", prefetched, false},
    {"device", device, true},
    {"pitch", pitch, true},
    {"early", early, true},
};

int main(int argc, char** argv) {
    const std::vector<std::string> chosen(argv + 1, argv + argc);
    for (const std::string& name : chosen) {
        if (std::any_of(std::begin(kCases), std::end(kCases), [&](const Case& known) { return name == known.name; })) continue;
        std::fprintf(stderr, "usage: memory [CASE...]    (there is no case %s)\n", name.c_str());
        return 2;
    }
    reachable_gpus("memory");
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&early_words, kPage));
    CHECK(cudaSetDevice(0));

    bool right = true, open = false;
    uint32_t n = 1000;
    for (const Case& each : kCases) {
        if (chosen.empty() || std::find(chosen.begin(), chosen.end(), each.name) != chosen.end()) {
            if (each.opens_gpus && !open) open_gpus("memory");
            open = open || each.opens_gpus;
            CHECK(cudaSetDevice(0));
            const Outcome ended = each.run(n);
            std::printf("%s: %s\n", each.name, text(ended));
            right = right && ended != Outcome::wrong;
        }
        n += 32;
    }
    return verdict(right);
}
