// unfinished N: GPU 0 writes to GPU 1 twice, and the program ends while the second kernel still runs.
//
// Remote traffic of the first launch; the second one's is not known to anybody when the program ends:
//   kernel  operation  accesses      lanes  bytes/lane  sectors
//   put     store      ceil(N / 32)  N      4           ceil(N / 8)
#include <cstdint>

#include "common.cuh"

__global__ void put(uint32_t* next, uint32_t n, uint64_t nanoseconds) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) next[i] = i;  // remote: put
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}

int main(int argc, char** argv) {
    const uint32_t n = argument(argc == 2 ? argv[1] : nullptr, 1, 1 << 30, "unfinished N    (from 1 to 2^30)");
    open_gpus("unfinished");
    uint32_t* inbox = nullptr;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&inbox, n * sizeof(uint32_t)));
    CHECK(cudaSetDevice(0));
    put<<<(n + 255) / 256, 256>>>(inbox, n, 0);
    CHECK(cudaDeviceSynchronize());
    put<<<(n + 255) / 256, 256>>>(inbox, n, 20000000000);
    CHECK(cudaGetLastError());
    std::printf("unfinished: %u words\n", n);
    return verdict(true);
}
