// full FREE N: takes the memory of GPU 0 until no more than FREE MiB of it are free, launches put N times, gives the memory back, and
// launches put N times more. What it is answered, it says. It ends with 3 if a launch or its words were not right.
//
//   kernel  operation  accesses  lanes  bytes/lane  sectors
//   put     store      32        1024   4           128      put
#include <cstdint>
#include <vector>

#include "common.cuh"

constexpr const char* kUsage = "full FREE N    (FREE from 0 to 2^20, N from 1 to 2^20)";
constexpr int kThreads = 1024;
constexpr size_t kMib = 1 << 20;

__global__ void put(uint32_t* far, uint32_t value) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    far[i] = value + i;  // remote: put
}

static bool puts(uint32_t* far, uint32_t n, uint32_t first) {
    for (uint32_t launch = 0; launch < n; ++launch) put<<<kThreads / 256, 256>>>(far, first + launch);
    const cudaError_t launched = cudaGetLastError();
    const cudaError_t ended = cudaDeviceSynchronize();
    std::vector<uint32_t> words(kThreads);
    const cudaError_t copied = cudaMemcpy(words.data(), far, kThreads * sizeof(uint32_t), cudaMemcpyDefault);
    bool right = true;
    for (uint32_t i = 0; i < kThreads; ++i) right = right && words[i] == first + n - 1 + i;
    std::printf("%u launches: %s, %s, %s, %s\n", n, cudaGetErrorName(launched), cudaGetErrorName(ended), cudaGetErrorName(copied),
                right ? "right" : "wrong");
    return right;
}

int main(int argc, char** argv) {
    const auto most = static_cast<size_t>(argument(argc == 3 ? argv[1] : nullptr, 0, 1 << 20, kUsage)) * kMib;
    const auto n = static_cast<uint32_t>(argument(argc == 3 ? argv[2] : nullptr, 1, 1 << 20, kUsage));
    auto* const far = static_cast<uint32_t*>(memory_at(far_place("full"), kThreads * sizeof(uint32_t)));
    std::vector<void*> taken;
    for (size_t piece = 1024 * kMib; piece >= 2 * kMib;) {
        size_t free = 0, all = 0;
        CHECK(cudaMemGetInfo(&free, &all));
        void* more = nullptr;
        if (free < most + piece || cudaMalloc(&more, piece) != cudaSuccess)
            piece /= 2;
        else
            taken.push_back(more);
    }
    cudaGetLastError();  // the last refusal
    std::printf("%s is taken\n", taken.empty() ? "nothing" : "memory");
    bool right = puts(far, n, 0);
    for (void* const piece : taken) CHECK(cudaFree(piece));
    right = puts(far, n, n) && right;
    return right ? 0 : 3;
}
