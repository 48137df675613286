// tensor: copies of boxes of tensors by their maps, GPU 0 on tensors in far memory (far_place), each issued by thread 0 of one block. Needs
// sm_90.
//
// Traffic of a launch: one access, the bytes of the box's elements that lie inside the tensor, the distinct 32-byte sectors of these. Of
// each row of this table one launch of each kernel,
//   fetch<rank>   box: load
//   put<rank>     box: store
//   add           box: reduction, for tensors of three axes
//   elements  tensor      pitches  box        at        inside
//   1 byte    992                  128        16        all
//                                             928       64
//                                             -32       96; only fetched, because stores must begin inside
//   2 bytes   40 x 10     96       16 x 4     8, 3      all
//                                             32, 8     8 x 2
//   4 bytes   20 x 6 x 4  96, 640  8 x 3 x 2  4, 2, 1   all
//                                             16, 4, 3  4 x 2 x 1
//   8 bytes   12 x 8      112      4 x 8      2, 0      all
//                                             12, 0     nothing: no access
//   4 bytes   20 x 8      96       8 x 4      4, 1      rows 1 and 3, because the step is 2 in y; only fetched
// and then of the box 16 x 4 at 8, 3 one of
//   from_constant, from_memory  box: load; the map lies in constant or in global memory, not among the kernel's parameters
//   edited        box: load; the kernel replaces the address in the map
//   fetch<2>      box: of a tensor on GPU 0: no access
//   prefetch      no access
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "arrays.cuh"
#include "bulk.cuh"
#include "driver.cuh"

#if __CUDA_ARCH_LIST__ < 900
int main() { return cannot_run("tensor", "tensor maps begin with sm_90"); }
#else

constexpr int kThreads = 32;
constexpr int kLargest = 256;  // bytes of a box

template <int rank>
__device__ void fetch_box(void* to, const CUtensorMap* map, int3 at, uint64_t* barrier) {
    const uint32_t shared = in_shared(to), arrival = in_shared(barrier);
    if constexpr (rank == 1)
        asm volatile(
            "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(shared),
            "l"(map), "r"(at.x), "r"(arrival)
            : "memory");
    if constexpr (rank == 2)
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
            "l"(map), "r"(at.x), "r"(at.y), "r"(arrival)
            : "memory");
    if constexpr (rank == 3)
        asm volatile(
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
                shared),
            "l"(map), "r"(at.x), "r"(at.y), "r"(at.z), "r"(arrival)
            : "memory");
}

template <int rank>
__device__ void put_box(const void* from, const CUtensorMap* map, int3 at) {
    const uint32_t shared = in_shared(from);
    if constexpr (rank == 1)
        asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];" ::"l"(map), "r"(shared), "r"(at.x)
                     : "memory");
    if constexpr (rank == 2)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(shared), "r"(at.x),
                     "r"(at.y)
                     : "memory");
    if constexpr (rank == 3)
        asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map), "r"(shared),
                     "r"(at.x), "r"(at.y), "r"(at.z)
                     : "memory");
}

__device__ void add_box(const void* from, const CUtensorMap* map, int3 at) {
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
                 "r"(in_shared(from)), "r"(at.x), "r"(at.y), "r"(at.z)
                 : "memory");
}

// What all kernels that fetch have around the copy itself, which `issue` does in thread 0.
template <typename Issue>
__device__ void fetch_into(char* here, uint32_t bytes, Issue issue) {
    __shared__ alignas(128) char shared[kLargest];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        begin_barrier(&barrier);
        expect_bytes(&barrier, bytes);
        issue(shared, &barrier);
    }
    __syncthreads();
    wait_for_bytes(&barrier);
    for (uint32_t k = threadIdx.x; k < bytes; k += kThreads) here[k] = shared[k];
}

template <typename Issue>
__device__ void send_from(const char* here, uint32_t bytes, Issue issue) {
    __shared__ alignas(128) char shared[kLargest];
    for (uint32_t k = threadIdx.x; k < bytes; k += kThreads) shared[k] = here[k];
    show_to_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
        issue(shared);
        wait_until_written();
    }
}

template <int rank>
__global__ void fetch(const __grid_constant__ CUtensorMap map, int3 at, char* here, uint32_t bytes) {
    fetch_into(here, bytes, [&](void* to, uint64_t* barrier) {
        fetch_box<rank>(to, &map, at, barrier);  // remote: box
    });
}

template <int rank>
__global__ void put(const __grid_constant__ CUtensorMap map, int3 at, const char* here, uint32_t bytes) {
    send_from(here, bytes, [&](const void* from) {
        put_box<rank>(from, &map, at);  // remote: box
    });
}

__global__ void add(const __grid_constant__ CUtensorMap map, int3 at, const char* here, uint32_t bytes) {
    send_from(here, bytes, [&](const void* from) {
        add_box(from, &map, at);  // remote: box
    });
}

__constant__ CUtensorMap constant_map;

__global__ void from_constant(int3 at, char* here, uint32_t bytes) {
    fetch_into(here, bytes, [&](void* to, uint64_t* barrier) {
        fetch_box<2>(to, &constant_map, at, barrier);  // remote: box
    });
}

__global__ void from_memory(const CUtensorMap* map, int3 at, char* here, uint32_t bytes) {
    fetch_into(here, bytes, [&](void* to, uint64_t* barrier) {
        fetch_box<2>(to, map, at, barrier);  // remote: box
    });
}

__global__ void prefetch(const __grid_constant__ CUtensorMap map, int3 at) {
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&map), "r"(at.x), "r"(at.y) : "memory");
}

__global__ void edited(CUtensorMap* map, const char* address, int3 at, char* here, uint32_t bytes) {
    if (threadIdx.x == 0) {
        const uint64_t in_global = __cvta_generic_to_global(map);
        asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(in_global), "l"(address) : "memory");
        asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    }
    __syncthreads();
    fetch_into(here, bytes, [&](void* to, uint64_t* barrier) {
        fetch_box<2>(to, map, at, barrier);  // remote: box
    });
}

struct Tensor {
    CUtensorMapDataType type;
    uint32_t width;  // bytes of an element
    uint32_t rank;
    std::array<uint64_t, 3> sizes;    // elements
    std::array<uint64_t, 3> pitches;  // bytes from one element to the next in x, y, z
    std::array<uint32_t, 3> box;      // elements
    std::array<uint32_t, 3> step;     // of the elements of a box, every so many one is copied

    uint32_t copied(int axis) const { return (box[axis] + step[axis] - 1) / step[axis]; }
    uint32_t box_bytes() const { return copied(0) * copied(1) * copied(2) * width; }
};

constexpr Tensor kBytes = {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 1, {992, 1, 1}, {1, 0, 0}, {128, 1, 1}, {1, 1, 1}};
constexpr Tensor kShorts = {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, 2, {40, 10, 1}, {2, 96, 0}, {16, 4, 1}, {1, 1, 1}};
constexpr Tensor kWords = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, 3, {20, 6, 4}, {4, 96, 640}, {8, 3, 2}, {1, 1, 1}};
constexpr Tensor kLongs = {CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, 2, {12, 8, 1}, {8, 112, 0}, {4, 8, 1}, {1, 1, 1}};
constexpr Tensor kStepped = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, 2, {20, 8, 1}, {4, 96, 0}, {8, 4, 1}, {1, 2, 1}};

CUtensorMap map_of(const Tensor& tensor, void* address) {
    CUtensorMap map;
    CHECK(DRIVER(cuTensorMapEncodeTiled)(&map, tensor.type, tensor.rank, address, tensor.sizes.data(), &tensor.pitches[1],
                                         tensor.box.data(), tensor.step.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

using Bytes = std::vector<unsigned char>;

// Calls visit(offset in the tensor, offset in the box) for every element that is copied.
template <typename Visit>
void for_each_inside(const Tensor& tensor, int3 at, Visit visit) {
    for (uint32_t z = 0; z < tensor.copied(2); ++z)
        for (uint32_t y = 0; y < tensor.copied(1); ++y)
            for (uint32_t x = 0; x < tensor.copied(0); ++x) {
                const int64_t place[3] = {at.x + int64_t(x * tensor.step[0]), at.y + int64_t(y * tensor.step[1]),
                                          at.z + int64_t(z * tensor.step[2])};
                int64_t offset = 0;
                bool inside = true;
                for (int axis = 0; axis < 3; ++axis) {
                    inside = inside && place[axis] >= 0 && place[axis] < int64_t(tensor.sizes[axis]);
                    offset += place[axis] * int64_t(tensor.pitches[axis]);
                }
                if (inside) visit(offset, ((z * tensor.copied(1) + y) * tensor.copied(0) + x) * tensor.width);
            }
}

// The box as a fetch delivers it: zeros for what is not inside.
Bytes box_of(const Tensor& tensor, int3 at, const Bytes& content) {
    Bytes box(tensor.box_bytes());
    for_each_inside(tensor, at, [&](size_t from, size_t to) { std::copy_n(&content[from], tensor.width, &box[to]); });
    return box;
}

int far = kHost;
bool all_right = true;

void expect(const char* name, bool right) {
    std::printf("%s: %s\n", name, right ? "right" : "wrong");
    all_right = all_right && right;
}

bool begins(const Array& array, const Bytes& expected) {
    const Bytes bytes = array.read<unsigned char>();
    return std::equal(expected.begin(), expected.end(), bytes.begin());
}

template <int rank>
void fetch_put_add(const Tensor& tensor, int3 at, const Bytes& pattern) {
    const uint32_t bytes = tensor.box_bytes();
    const bool stepped = tensor.step != std::array<uint32_t, 3>{1, 1, 1};
    const Array source(far), fetched(0), there(far), own(0);
    source.write(pattern);
    own.write(pattern);
    std::printf("%u bytes, %u axes, at %d, %d, %d\n", tensor.width, rank, at.x, at.y, at.z);
    fetch<rank><<<1, kThreads>>>(map_of(tensor, source), at, fetched, bytes);
    CHECK(cudaGetLastError());
    expect("  fetch", begins(fetched, box_of(tensor, at, pattern)));
    if (stepped || at.x < 0) return;

    Bytes content(pattern.size());
    put<rank><<<1, kThreads>>>(map_of(tensor, there), at, own, bytes);
    CHECK(cudaGetLastError());
    for_each_inside(tensor, at, [&](size_t to, size_t from) { std::copy_n(&pattern[from], tensor.width, &content[to]); });
    expect("  put", begins(there, content));

    if constexpr (rank == 3) {
        add<<<1, kThreads>>>(map_of(tensor, there), at, own, bytes);
        CHECK(cudaGetLastError());
        for_each_inside(tensor, at, [&](size_t to, size_t) {
            uint32_t word;
            std::memcpy(&word, &content[to], sizeof word);
            word *= 2;
            std::memcpy(&content[to], &word, sizeof word);
        });
        expect("  add", begins(there, content));
    }
}

int main() {
    far = far_place("tensor");
    Bytes pattern(16384);
    for (size_t k = 0; k < pattern.size(); ++k) pattern[k] = k * 7 + k / 256 + 1;

    const int3 at = make_int3(8, 3, 0);
    const uint32_t bytes = kShorts.box_bytes();
    const Bytes box = box_of(kShorts, at, pattern);
    const Array source(far), own(0), maps(0);
    source.write(pattern);
    own.write(pattern);
    const CUtensorMap map = map_of(kShorts, source);
    // A box begins at a multiple of 16 bytes.
    for (const int x : {16, 928, -32}) fetch_put_add<1>(kBytes, make_int3(x, 0, 0), pattern);
    fetch_put_add<2>(kShorts, at, pattern);
    fetch_put_add<2>(kShorts, make_int3(32, 8, 0), pattern);
    fetch_put_add<3>(kWords, make_int3(4, 2, 1), pattern);
    fetch_put_add<3>(kWords, make_int3(16, 4, 3), pattern);
    fetch_put_add<2>(kLongs, make_int3(2, 0, 0), pattern);
    fetch_put_add<2>(kLongs, make_int3(12, 0, 0), pattern);
    fetch_put_add<2>(kStepped, make_int3(4, 1, 0), pattern);

    const Array by_constant(0), by_memory(0), by_own(0);
    CHECK(cudaMemcpyToSymbol(constant_map, &map, sizeof map));
    from_constant<<<1, kThreads>>>(at, by_constant, bytes);
    CHECK(cudaGetLastError());
    expect("from_constant", begins(by_constant, box));
    maps.write(std::vector<CUtensorMap>{map});
    from_memory<<<1, kThreads>>>(maps, at, by_memory, bytes);
    CHECK(cudaGetLastError());
    expect("from_memory", begins(by_memory, box));
    const Array other(far), by_edited(0), other_map(0);
    other_map.write(std::vector<CUtensorMap>{map_of(kShorts, other)});
    edited<<<1, kThreads>>>(other_map, source, at, by_edited, bytes);
    CHECK(cudaGetLastError());
    expect("edited", begins(by_edited, box));
    fetch<2><<<1, kThreads>>>(map_of(kShorts, own), at, by_own, bytes);
    CHECK(cudaGetLastError());
    expect("own memory", begins(by_own, box));
    prefetch<<<1, kThreads>>>(map, at);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return verdict(all_right);
}
#endif
