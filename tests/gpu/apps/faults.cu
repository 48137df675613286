// faults KIND N: N launches of put, each of which has ended before the next; then one of fault, which stores into the far memory
// (far_place) and then does what ends its context: stores to no memory (0), to an address that is not a multiple of four (1), ends by
// trap (2), or by a failed assertion (3). The program says what it is told, and resets its GPUs. Where the driver allows it, it launches
// put N times more. It ends with 3.
//
//   kernel  operation  accesses  lanes  bytes/lane  sectors
//   put     store      32        1024   4           128      put
//   fault   store      32        1024   4           128      before
#include <cassert>
#include <cstdint>
#include <vector>

#include "common.cuh"

constexpr const char* kUsage = "faults KIND N    (KIND from 0 to 3, N from 1 to 2^20)";
constexpr int kThreads = 1024;

__global__ void put(uint32_t* far, uint32_t value) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    far[i] = value + i;  // remote: put
}

__global__ void fault(uint32_t* far, int kind, uint32_t* nowhere) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    far[i] = i;  // remote: before
    __threadfence_system();
    if (kind <= 1) nowhere[i] = i;
    if (kind == 2) asm volatile("trap;");
    assert(kind != 3);
}

// N launches of put into new memory, whose words are then right.
static void puts(int place, uint32_t n) {
    auto* const far = static_cast<uint32_t*>(memory_at(place, kThreads * sizeof(uint32_t)));
    for (uint32_t launch = 0; launch < n; ++launch) {
        put<<<kThreads / 256, 256>>>(far, launch);
        CHECK(cudaDeviceSynchronize());
    }
    std::vector<uint32_t> words(kThreads);
    CHECK(cudaMemcpy(words.data(), far, kThreads * sizeof(uint32_t), cudaMemcpyDefault));
    bool right = true;
    for (uint32_t i = 0; i < kThreads; ++i) right = right && words[i] == n - 1 + i;
    std::printf("%u launches: %s\n", n, right ? "right" : "wrong");
}

int main(int argc, char** argv) {
    const int kind = static_cast<int>(argument(argc == 3 ? argv[1] : nullptr, 0, 3, kUsage));
    const auto n = static_cast<uint32_t>(argument(argc == 3 ? argv[2] : nullptr, 1, 1 << 20, kUsage));
    int place = far_place("faults");
    puts(place, n);

    auto* const far = static_cast<uint32_t*>(memory_at(place, kThreads * sizeof(uint32_t)));
    auto* const nowhere = kind == 0 ? reinterpret_cast<uint32_t*>(16) : reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(far) + 1);
    fault<<<kThreads / 256, 256>>>(far, kind, nowhere);
    std::printf("launched: %s\n", cudaGetErrorName(cudaGetLastError()));
    std::printf("ended: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    void* more = nullptr;
    std::printf("memory: %s\n", cudaGetErrorName(cudaMalloc(&more, 4)));
    put<<<1, 1>>>(far, 0);
    std::printf("another launch: %s\n", cudaGetErrorName(cudaGetLastError()));

    for (int gpu = place == 1 ? 1 : 0; gpu >= 0; --gpu) {
        std::printf("GPU %d: %s\n", gpu, cudaGetErrorName(cudaSetDevice(gpu)));
        std::printf("reset: %s\n", cudaGetErrorName(cudaDeviceReset()));
    }
    const cudaError_t anew = cudaSetDevice(0);
    std::printf("anew: %s\n", cudaGetErrorName(anew));
    if (anew != cudaSuccess) return 3;
    place = far_place("faults");
    puts(place, n);
    return 3;
}
