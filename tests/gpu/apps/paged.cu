// paged LAUNCHES: the mean of four neighbours in a plane of 2048 x 2048 words of managed memory, which the host has written: the first
// launch takes the pages to the GPU, by faults. One call has several accesses, all of memory that counts as the host's.
//
// Traffic of one launch, whose 2046 x 2046 threads inside the plate are 64 warps a row:
//   kernel   operation  accesses    lanes        bytes/lane
//   stencil  load       4 x 130944  4 x 2046^2   4
//   stencil  store      130944      2046^2       4
#include <cstdint>
#include <vector>

#include "common.cuh"

constexpr int kSide = 2048;
constexpr int kBlock = 256;

__global__ void stencil(const float* in, float* out) {
    const int x = blockIdx.x * kBlock + threadIdx.x;
    const int y = blockIdx.y + 1;
    if (x < 1 || x > kSide - 2) return;
    const float* cell = in + y * kSide + x;
    out[y * kSide + x] = 0.25f * ((cell[-1] + cell[1]) + (cell[-kSide] + cell[kSide]));
}

int main(int argc, char** argv) {
    const uint32_t launches = argument(argc == 2 ? argv[1] : nullptr, 1, 1 << 20, "paged LAUNCHES");
    float *in = nullptr, *out = nullptr;
    for (float** plane : {&in, &out}) CHECK(cudaMallocManaged(plane, sizeof(float) * kSide * kSide));
    for (int i = 0; i < kSide * kSide; ++i) in[i] = static_cast<float>(i * 7919 % 1024);
    for (uint32_t i = 0; i < launches; ++i) {
        stencil<<<dim3(kSide / kBlock, kSide - 2), kBlock>>>(in, out);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    bool right = true;
    for (int y = 1; y < kSide - 1; ++y) {
        for (int x = 1; x < kSide - 1; ++x) {
            const int i = y * kSide + x;
            right = right && out[i] == 0.25f * (in[i - 1] + in[i + 1] + in[i - kSide] + in[i + kSide]);
        }
    }
    std::printf("paged: %u launches\n", launches);
    return verdict(right);
}
