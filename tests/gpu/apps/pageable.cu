// pageable N: GPU 0 reads N words that the program has from malloc, and stores them to GPU 1. Reads of memory that no call
// of CUDA has made known are not measured. Prints whether the GPU can read such memory; if not, nothing is launched.
//
// Remote traffic:
//   kernel  operation  accesses      lanes  bytes/lane  sectors
//   put     store      ceil(N / 32)  N      4           ceil(N / 8)
#include <cstdint>
#include <vector>

#include "common.cuh"

__global__ void put(uint32_t* next, const uint32_t* words, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) next[i] = words[i];  // remote: put
}

int main(int argc, char** argv) {
    const uint32_t n = argument(argc == 2 ? argv[1] : nullptr, 1, 1 << 20, "pageable N    (from 1 to 2^20)");
    open_gpus("pageable");
    int here = 0;
    CHECK(cudaDeviceGetAttribute(&here, cudaDevAttrPageableMemoryAccess, 0));
    std::printf("pageable: %s\n", here ? "right" : "not here");
    if (!here) return verdict(true);

    uint32_t* next = nullptr;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&next, n * sizeof(uint32_t)));
    CHECK(cudaSetDevice(0));
    std::vector<uint32_t> words(n), stored(n);
    for (uint32_t i = 0; i < n; ++i) words[i] = 3 * i + 1;
    put<<<(n + 255) / 256, 256>>>(next, words.data(), n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(stored.data(), next, n * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    return verdict(stored == words);
}
