// blocks: GPU 0 writes to GPU 1 from a grid of 5 x 4 blocks of 32 threads; block b, counted along x first, to words 32 b to 32 b + 31.
//
// Remote traffic of one block, of the one launch:
//   kernel  operation  accesses  lanes  bytes/lane  sectors
//   tiles   store      1         32     4           4
#include <cstdint>

#include "arrays.cuh"

constexpr int kBlock = 32;

__global__ void tiles(uint32_t* there) {
    const uint32_t block = blockIdx.x + gridDim.x * blockIdx.y;
    there[block * kBlock + threadIdx.x] = block;  // remote: tile
}

int main() {
    open_gpus("blocks");
    CHECK(cudaSetDevice(0));
    const Array there(1);
    const dim3 grid(5, 4);
    tiles<<<grid, kBlock>>>(there);
    CHECK(cudaGetLastError());
    const auto words = there.read<uint32_t>();
    bool right = true;
    for (uint32_t i = 0; i < grid.x * grid.y * kBlock; ++i) right = right && words[i] == i / kBlock;
    std::printf("blocks: %u x %u\n", grid.x, grid.y);
    return verdict(right);
}
