// threads N ITERS: one host thread a GPU, all launching at the same time; GPU i writes to GPU i + 1.
//
// Remote traffic of one launch, of which every GPU makes ITERS:
//   kernel  operation  accesses      lanes  bytes/lane  sectors
//   put     store      ceil(N / 32)  N      4           ceil(N / 8)
#include <cstdint>
#include <thread>
#include <vector>

#include "common.cuh"

__global__ void put(uint32_t* next, uint32_t n, uint32_t first) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) next[i] = first + i;  // remote: put
}

void launch_all(int gpu, uint32_t* next, uint32_t n, uint32_t iterations) {
    CHECK(cudaSetDevice(gpu));
    for (uint32_t iteration = 0; iteration < iterations; ++iteration) {
        put<<<(n + 255) / 256, 256>>>(next, n, gpu + iteration);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char** argv) {
    const char* usage = "threads N ITERS    (both from 1 to 2^30)";
    const uint32_t n = argument(argc == 3 ? argv[1] : nullptr, 1, 1 << 30, usage);
    const uint32_t iterations = argument(argc == 3 ? argv[2] : nullptr, 1, 1 << 30, usage);
    const int gpus = open_gpus("threads");

    std::vector<uint32_t*> inboxes(gpus);
    for (int g = 0; g < gpus; ++g) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaMalloc(&inboxes[g], n * sizeof(uint32_t)));
    }
    std::vector<std::thread> threads;
    for (int g = 0; g < gpus; ++g) threads.emplace_back(launch_all, g, inboxes[(g + 1) % gpus], n, iterations);
    for (std::thread& thread : threads) thread.join();

    bool right = true;
    std::vector<uint32_t> words(n);
    for (int g = 0; g < gpus; ++g) {
        CHECK(cudaMemcpy(words.data(), inboxes[(g + 1) % gpus], n * sizeof(uint32_t), cudaMemcpyDefault));
        for (uint32_t i = 0; i < n; ++i) right = right && words[i] == g + iterations - 1 + i;
    }
    std::printf("threads: %d GPUs, %u words, %u iterations\n", gpus, n, iterations);
    return verdict(right);
}
