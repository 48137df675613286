// launches: every way to launch a kernel from the host and to call a function in it; GPU 0 writes to GPU 1. Needs sm_90.
//
// Stores and loads of 4 bytes, thread i of element i unless said. One launch each, in this order:
//   kernel      threads  what                                    traffic
//   clustered   256      in clusters of two blocks               rank: store by all
//   first       128      lets `second` begin early               early: store by all
//   second      128      programmatic dependent launch           late: load of what `first` stored
//   whole_grid  128      cooperative; the grid synchronizes      before: store by all    after: load of element 127 - i
//   by_pointer  192      functions from a table                  one, two, three: store by the warps w with w % 3 = 0, 1, 2
//   recursive   64       a function that calls itself            depth: store by all, of elements i, 64 + i, … 64 x 4 + i
//   by_object   64       virtual functions                       plain: store by warp 0    doubled: store by warp 1
//   by_handle   64       cuLaunchKernel of a cudaKernel_t        handle: store by all
//   elsewhere   64       in a stream of GPU 1, GPU 0 is current  stores by all, GPU 1 on GPU 0: not measured
// Before it, one with more threads than a block can have fails. And then, by 4 host threads a GPU at the same time, 50 launches each, GPU i
// on GPU i + 1:
//   crowd       128      each host thread in its own stream      crowd: store by all
#include <cooperative_groups.h>

#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "arrays.cuh"
#include "driver.cuh"

#if __CUDA_ARCH_LIST__ < 900
int main() { return cannot_run("launches", "clusters begin with sm_90"); }
#else

namespace cg = cooperative_groups;

constexpr int kBlock = 64;
constexpr uint32_t kDepth = 4;
constexpr int kHostThreads = 4;
constexpr uint32_t kLaunches = 50;
constexpr uint32_t kSlice = 2 * kBlock;  // elements of one host thread

__device__ uint32_t thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void clustered(uint32_t* there) {
    there[thread()] = cg::this_cluster().block_rank();  // remote: rank
}

__global__ void first(uint32_t* there) {
    cudaTriggerProgrammaticLaunchCompletion();
    there[thread()] = thread();  // remote: early
}

__global__ void second(const uint32_t* there, uint32_t* here) {
    cudaGridDependencySynchronize();
    here[thread()] = 1 + there[thread()];  // remote: late
}

__global__ void whole_grid(uint32_t* there, uint32_t* here) {
    const uint32_t i = thread();
    there[i] = i;  // remote: before
    cg::this_grid().sync();
    here[i] = there[2 * kBlock - 1 - i];  // remote: after
}

__device__ __noinline__ void put_one(uint32_t* there, uint32_t i) {
    there[i] = i;  // remote: one
}
__device__ __noinline__ void put_two(uint32_t* there, uint32_t i) {
    there[i] = 2 * i;  // remote: two
}
__device__ __noinline__ void put_three(uint32_t* there, uint32_t i) {
    there[i] = 3 * i;  // remote: three
}
using Put = void (*)(uint32_t*, uint32_t);
__device__ Put functions[] = {put_one, put_two, put_three};

__global__ void by_pointer(uint32_t* there) {
    const uint32_t warp = thread() / 32;
    functions[warp % 3](there, thread());
}

__device__ __noinline__ uint32_t descend(uint32_t* there, uint32_t depth) {
    there[depth * kBlock + threadIdx.x] = depth + 1;  // remote: depth
    if (depth == 0) return 1;
    const uint32_t below = descend(there, depth - 1);
    return below * below + depth;
}

__global__ void recursive(uint32_t* there, uint32_t* here, uint32_t depth) { here[threadIdx.x] = descend(there, depth); }

struct Putter {
    __device__ virtual void put(uint32_t* there, uint32_t i) const = 0;
};
struct Plain : Putter {
    __device__ void put(uint32_t* there, uint32_t i) const override {
        there[i] = i;  // remote: plain
    }
};
struct Doubled : Putter {
    __device__ void put(uint32_t* there, uint32_t i) const override {
        there[i] = 2 * i;  // remote: doubled
    }
};

// Objects with virtual functions must be made where they are used.
__global__ void make_objects(Putter** objects, Plain* plain, Doubled* doubled) {
    objects[0] = new (plain) Plain;
    objects[1] = new (doubled) Doubled;
}

__global__ void by_object(Putter* const* objects, uint32_t* there) { objects[threadIdx.x / 32]->put(there, threadIdx.x); }

__global__ void by_handle(uint32_t* there) {
    there[thread()] = thread();  // remote: handle
}

__global__ void elsewhere(uint32_t* there) { there[thread()] = thread(); }

__global__ void crowd(uint32_t* there, uint32_t value) {
    there[thread()] = value + thread();  // remote: crowd
}

bool all_right = true;

void expect(const char* name, bool right) {
    std::printf("%s: %s\n", name, right ? "right" : "wrong");
    all_right = all_right && right;
}

template <typename Value>
void expect_words(const char* name, const Array& array, uint32_t count, Value value) {
    CHECK(cudaGetLastError());
    const auto words = array.read<uint32_t>();
    bool right = true;
    for (uint32_t i = 0; i < count; ++i) right = right && words[i] == uint32_t(value(i));
    expect(name, right);
}

cudaLaunchConfig_t config(int blocks, cudaLaunchAttribute* attribute) {
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = kBlock;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

void launch_with_attributes() {
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {2, 1, 1};
    const cudaLaunchConfig_t pairs = config(4, &cluster);
    const Array ranks(1);
    CHECK(cudaLaunchKernelEx(&pairs, clustered, static_cast<uint32_t*>(ranks)));
    expect_words("clustered", ranks, 256, [](uint32_t i) { return i / kBlock % 2; });

    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t dependent = config(2, &early);
    const Array there(1), here(0);
    first<<<2, kBlock>>>(there);
    CHECK(cudaGetLastError());
    CHECK(cudaLaunchKernelEx(&dependent, second, static_cast<const uint32_t*>(there), static_cast<uint32_t*>(here)));
    expect_words("first, second", here, 128, [](uint32_t i) { return 1 + i; });
}

void launch_cooperatively() {
    const Array there(1), here(0);
    uint32_t *to = there, *back = here;
    void* arguments[] = {&to, &back};
    CHECK(cudaLaunchCooperativeKernel(whole_grid, dim3(2), dim3(kBlock), arguments));
    expect_words("whole_grid", here, 128, [](uint32_t i) { return 127 - i; });
}

void call_functions() {
    const Array pointed(1), deep(1), results(0), objects(0), plain(0), doubled(0), put(1);
    by_pointer<<<3, kBlock>>>(pointed);
    expect_words("by_pointer", pointed, 192, [](uint32_t i) { return (i / 32 % 3 + 1) * i; });

    recursive<<<1, kBlock>>>(deep, results, kDepth);
    expect_words("recursive", deep, (kDepth + 1) * kBlock, [](uint32_t i) { return i / kBlock + 1; });
    uint32_t result = 1;
    for (uint32_t depth = 1; depth <= kDepth; ++depth) result = result * result + depth;
    expect_words("recursive's results", results, kBlock, [&](uint32_t) { return result; });

    make_objects<<<1, 1>>>(objects, plain, doubled);
    CHECK(cudaGetLastError());
    by_object<<<1, kBlock>>>(objects, put);
    expect_words("by_object", put, kBlock, [](uint32_t i) { return (i / 32 + 1) * i; });
}

void launch_by_driver() {
    const auto launch = driver_function<decltype(cuLaunchKernel)>("cuLaunchKernel");
    const Array there(1), untouched(1);
    uint32_t* address = there;
    void* arguments[] = {&address};
    cudaKernel_t kernel;
    CHECK(cudaGetKernel(&kernel, by_handle));
    const CUresult launched = launch(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, kBlock, 1, 1, 0, nullptr, arguments, nullptr);
    expect("cuLaunchKernel", launched == CUDA_SUCCESS);
    expect_words("by_handle", there, kBlock, [](uint32_t i) { return i; });

    address = untouched;
    CHECK(cudaGetKernel(&kernel, elsewhere));
    const CUresult too_many = launch(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments, nullptr);
    expect("too many threads", too_many != CUDA_SUCCESS);

    expect_words("refused", untouched, kBlock, [](uint32_t) { return 0; });

    // GPU 0 is current, and the stream is GPU 1's: that is where the kernel runs.
    const Array own(0);
    cudaStream_t other;
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaSetDevice(0));
    elsewhere<<<1, kBlock, 0, other>>>(own);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(other));
    expect_words("elsewhere", own, kBlock, [](uint32_t i) { return i; });
}

void launch_crowd(int gpu, uint32_t* slice) {
    cudaStream_t stream;
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (uint32_t k = 0; k < kLaunches; ++k) {
        crowd<<<2, kBlock, 0, stream>>>(slice, k);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaStreamSynchronize(stream));
}

int main() {
    const int gpus = open_gpus("launches");
    CHECK(cudaSetDevice(0));
    launch_with_attributes();
    launch_cooperatively();
    call_functions();
    launch_by_driver();

    std::vector<Array> inboxes;
    for (int g = 0; g < gpus; ++g) inboxes.emplace_back(g);
    std::vector<std::thread> threads;
    for (int g = 0; g < gpus; ++g)
        for (int k = 0; k < kHostThreads; ++k)
            threads.emplace_back(launch_crowd, g, static_cast<uint32_t*>(inboxes[(g + 1) % gpus]) + k * kSlice);
    for (std::thread& thread : threads) thread.join();
    for (const Array& inbox : inboxes)
        expect_words("crowd", inbox, kHostThreads * kSlice, [](uint32_t i) { return kLaunches - 1 + i % kSlice; });
    return verdict(all_right);
}
#endif
