// reset N: GPU 0 writes to GPU 1, all contexts are destroyed, and the same happens once more in new ones.
//
// Remote traffic of each of the two launches:
//   kernel  operation  accesses      lanes  bytes/lane  sectors
//   put     store      ceil(N / 32)  N      4           ceil(N / 8)
#include <cstdint>
#include <vector>

#include "common.cuh"

__global__ void put(uint32_t* next, uint32_t n, uint32_t first) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) next[i] = first + i;  // remote: put
}

int main(int argc, char** argv) {
    const uint32_t n = argument(argc == 2 ? argv[1] : nullptr, 1, 1 << 30, "reset N    (from 1 to 2^30)");
    bool right = true;
    for (uint32_t round = 0; round < 2; ++round) {
        const int gpus = open_gpus("reset");
        uint32_t* inbox = nullptr;
        CHECK(cudaSetDevice(1));
        CHECK(cudaMalloc(&inbox, n * sizeof(uint32_t)));
        CHECK(cudaSetDevice(0));
        put<<<(n + 255) / 256, 256>>>(inbox, n, round);
        CHECK(cudaGetLastError());
        std::vector<uint32_t> words(n);
        CHECK(cudaMemcpy(words.data(), inbox, n * sizeof(uint32_t), cudaMemcpyDefault));
        for (uint32_t i = 0; i < n; ++i) right = right && words[i] == round + i;
        for (int gpu = 0; gpu < gpus; ++gpu) {
            CHECK(cudaSetDevice(gpu));
            CHECK(cudaDeviceReset());
        }
    }
    std::printf("reset: %u words, twice\n", n);
    return verdict(right);
}
