// quiet: a program on one GPU, with local loads, stores and atomics. Remote traffic: none. It prints before its first CUDA call, into a
// buffer where stdout is no terminal, and has the driver launch a kernel of its own.
#include <cstdint>
#include <vector>

#include "common.cuh"

constexpr uint32_t kWords = 1 << 16;

__global__ void triple(const uint32_t* from, uint32_t* to, uint32_t* counter) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = 3 * from[i];
    atomicAdd(counter, 1u);
}

int main() {
    std::puts("quiet: begins");
    // Not every GPU keeps lines in its L2 cache.
    if (cudaCtxResetPersistingL2Cache() != cudaSuccess) cudaGetLastError();
    std::vector<uint32_t> words(kWords);
    for (uint32_t i = 0; i < kWords; ++i) words[i] = i;
    uint32_t *from = nullptr, *to = nullptr, *counter = nullptr, count = 0;
    CHECK(cudaMalloc(&from, kWords * sizeof(uint32_t)));
    CHECK(cudaMalloc(&to, kWords * sizeof(uint32_t)));
    CHECK(cudaMalloc(&counter, sizeof(uint32_t)));
    CHECK(cudaMemset(counter, 0, sizeof(uint32_t)));
    CHECK(cudaMemcpy(from, words.data(), kWords * sizeof(uint32_t), cudaMemcpyDefault));
    triple<<<kWords / 256, 256>>>(from, to, counter);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(words.data(), to, kWords * sizeof(uint32_t), cudaMemcpyDefault));
    CHECK(cudaMemcpy(&count, counter, sizeof(uint32_t), cudaMemcpyDefault));

    bool right = count == kWords;
    for (uint32_t i = 0; i < kWords; ++i) right = right && words[i] == 3 * i;
    std::printf("quiet: %u words\n", count);
    return verdict(right);
}
