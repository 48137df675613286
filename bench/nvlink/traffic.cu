// Kernels of GPU 0 on the memory of GPU 1, each of one instruction, width and pattern, for nvlink_counters.py to load as a library.
//
// A launch has 2^22 lanes. Coalesced, lane i touches element i, so the 32 lanes of a warp share as few 32-byte sectors as they can;
// scattered, each lane touches a sector of its own, and those of a warp lie far apart. No sector is touched by two warps, except by
// `reread`: there each warp reads, 8 times, what the warps of its block read, with loads that may hit in the L1 cache.
//   store  load (not cached)  reread    1, 2, 4, 8 and 16 bytes a lane
//   atomic (its result is used)  reduction (it is not)    4, 8 and 16 bytes a lane: there are no smaller ones
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

constexpr uint32_t kLanes = 1 << 22;
constexpr uint32_t kBlock = 256;
constexpr uint32_t kRereads = 8;
constexpr size_t kSector = 32;

// Odd, so that it maps the lanes onto the sectors one to one.
constexpr uint32_t kShuffle = 2654435761u;

template <typename T>
__device__ T* place(T* base, bool scattered) {
    const uint32_t lane = blockIdx.x * kBlock + threadIdx.x;
    return scattered ? base + lane * kShuffle % kLanes * (kSector / sizeof(T)) : base + lane;
}

// What is loaded must be used, all of it, or the compiler loads less: it does not know that no sum is kNever.
constexpr uint64_t kNever = ~uint64_t(0);
__device__ uint64_t sum(uint64_t value) { return value; }
__device__ uint64_t sum(uint4 value) { return uint64_t(value.x) + value.y + value.z + value.w; }
__device__ uint64_t sum(float4 value) { return __float_as_uint(value.x + value.y + value.z + value.w); }

template <typename T>
__device__ T one() {
    return 1;
}
template <>
__device__ uint4 one<uint4>() {
    return make_uint4(1, 1, 1, 1);
}
template <>
__device__ float4 one<float4>() {
    return make_float4(1, 1, 1, 1);
}

template <typename T>
__global__ void store(T* there, bool scattered, uint64_t, uint64_t*) {
    *place(there, scattered) = one<T>();
}

template <typename T>
__global__ void load(T* there, bool scattered, uint64_t never, uint64_t* result) {
    const uint64_t value = sum(__ldcv(place(there, scattered)));
    if (value == never) *result = value;
}

template <typename T>
__global__ void reread(T* there, bool, uint64_t never, uint64_t* result) {
    const T* const own = there + blockIdx.x * kBlock;
    uint64_t value = 0;
#pragma unroll 1
    for (uint32_t warp = 0; warp < kRereads; ++warp) value += sum(own[(threadIdx.x + 32 * warp) % kBlock]);
    if (value == never) *result = value;
}

template <typename T>
__global__ void atomic(T* there, bool scattered, uint64_t never, uint64_t* result) {
    const uint64_t value = sum(atomicAdd(place(there, scattered), one<T>()));
    if (value == never) *result = value;
}

template <typename T>
__global__ void reduction(T* there, bool scattered, uint64_t, uint64_t*) {
    atomicAdd(place(there, scattered), one<T>());
}

namespace {

void* there = nullptr;
uint64_t* result = nullptr;

bool succeeded(cudaError_t status, const char* call) {
    if (status != cudaSuccess) std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
    return status == cudaSuccess;
}
#define SUCCEEDED(call) succeeded((call), #call)

template <typename T>
bool launch(void (*kernel)(T*, bool, uint64_t, uint64_t*), bool scattered, int launches) {
    for (int i = 0; i < launches; ++i) kernel<<<kLanes / kBlock, kBlock>>>(static_cast<T*>(there), scattered, kNever, result);
    return SUCCEEDED(cudaGetLastError()) && SUCCEEDED(cudaDeviceSynchronize());
}

using Wide = unsigned long long;

}  // namespace

extern "C" {

// Makes the memory, and the way to it. All of these return whether it went well, and say on stderr what did not.
bool prepare() {
    bool ready = SUCCEEDED(cudaSetDevice(1)) && SUCCEEDED(cudaMalloc(&there, kLanes * kSector));
    ready = ready && SUCCEEDED(cudaMemset(there, 0, kLanes * kSector)) && SUCCEEDED(cudaDeviceSynchronize());
    ready = ready && SUCCEEDED(cudaSetDevice(0)) && SUCCEEDED(cudaDeviceEnablePeerAccess(1, 0));
    return ready && SUCCEEDED(cudaMalloc(&result, sizeof *result)) && SUCCEEDED(cudaDeviceSynchronize());
}

// Launches a kernel so many times, and waits.
bool run(const char* kernel, int bytes, bool scattered, int launches) {
#define CASE(name, T) \
    if (kernel == std::string_view(#name) && bytes == sizeof(T)) return launch(name<T>, scattered, launches)
    CASE(store, uint8_t);
    CASE(store, uint16_t);
    CASE(store, uint32_t);
    CASE(store, Wide);
    CASE(store, uint4);
    CASE(load, uint8_t);
    CASE(load, uint16_t);
    CASE(load, uint32_t);
    CASE(load, Wide);
    CASE(load, uint4);
    CASE(reread, uint8_t);
    CASE(reread, uint16_t);
    CASE(reread, uint32_t);
    CASE(reread, Wide);
    CASE(reread, uint4);
    CASE(atomic, uint32_t);
    CASE(atomic, Wide);
    CASE(atomic, float4);
    CASE(reduction, uint32_t);
    CASE(reduction, Wide);
    CASE(reduction, float4);
#undef CASE
    std::fprintf(stderr, "there is no %s of %d bytes\n", kernel, bytes);
    return false;
}

// Memory for others, such as NCCL; null where there is none.
void* allocate(int gpu, size_t bytes) {
    void* address = nullptr;
    const bool made = SUCCEEDED(cudaSetDevice(gpu)) && SUCCEEDED(cudaMalloc(&address, bytes));
    return made && SUCCEEDED(cudaMemset(address, 0, bytes)) && SUCCEEDED(cudaDeviceSynchronize()) ? address : nullptr;
}

bool wait(int gpu) { return SUCCEEDED(cudaSetDevice(gpu)) && SUCCEEDED(cudaDeviceSynchronize()); }

}  // extern "C"
