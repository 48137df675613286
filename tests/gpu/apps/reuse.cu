// reuse BYTES ROUNDS: round after round, memory is allocated on another GPU, written by GPU 0, checked and freed, so that
// an address may come back with another owner. Prints where each round's memory was.
//
// Remote traffic of a round, issuer GPU 0, by the owner that the program prints; none if the owner is GPU 0:
//   kernel  operation  accesses            lanes      bytes/lane  sectors
//   fill    store      ceil(BYTES/4 / 32)  BYTES / 4  4           ceil(BYTES/4 / 8)
#include <cstdint>
#include <vector>

#include "common.cuh"

__global__ void fill(uint32_t* words, uint32_t n, uint32_t first) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = first + i;  // remote: fill
}

int main(int argc, char** argv) {
    const char* usage = "reuse BYTES ROUNDS    (BYTES from 4 to 2^30)";
    const uint32_t bytes = argument(argc == 3 ? argv[1] : nullptr, 4, 1 << 30, usage);
    const int rounds = argument(argc == 3 ? argv[2] : nullptr, 1, 1 << 20, usage);
    const int gpus = open_gpus("reuse");
    const uint32_t n = bytes / 4;

    bool right = true;
    std::vector<uint32_t> words(n);
    for (int round = 0; round < rounds; ++round) {
        const int owner = (round + 1) % gpus;
        uint32_t* memory = nullptr;
        CHECK(cudaSetDevice(owner));
        CHECK(cudaMalloc(&memory, bytes));
        CHECK(cudaSetDevice(0));
        fill<<<(n + 255) / 256, 256>>>(memory, n, round);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(words.data(), memory, n * sizeof(uint32_t), cudaMemcpyDefault));
        for (uint32_t i = 0; i < n; ++i) right = right && words[i] == round + i;
        CHECK(cudaFree(memory));
        std::printf("round %d: GPU %d, address %p\n", round, owner, static_cast<void*>(memory));
    }
    return verdict(right);
}
