// children ALSO: a kernel on GPU 0 that writes to GPU 1 launches, on the device, two kernels that do so too.
//
// With ALSO = 1, the host launches child too. Remote traffic that is measured:
//   kernel  operation  accesses  lanes  bytes/lane  sectors
//   parent  store      4         128    4           16
// and that parent launches twice. What child writes is not measured, whoever launches it.
#include <cstdint>

#include "arrays.cuh"

constexpr int kBlock = 64;

__global__ void child(uint32_t* there, uint32_t value) { there[threadIdx.x] = value + threadIdx.x; }

__global__ void parent(uint32_t* there, uint32_t* first, uint32_t* second) {
    const uint32_t i = blockIdx.x * kBlock + threadIdx.x;
    there[i] = i;  // remote: parent
    if (i != 0) return;
    child<<<1, kBlock>>>(first, 1000);
    child<<<1, kBlock, 0, cudaStreamFireAndForget>>>(second, 2000);
}

int main(int argc, char** argv) {
    const bool also = argument(argc == 2 ? argv[1] : nullptr, 0, 1, "children ALSO    (0 or 1)");
    open_gpus("children");
    CHECK(cudaSetDevice(0));
    const Array there(1), first(1), second(1), third(1);
    if (also) child<<<1, kBlock>>>(third, 3000);
    CHECK(cudaGetLastError());
    parent<<<2, kBlock>>>(there, first, second);
    CHECK(cudaGetLastError());
    const auto thirds = third.read<uint32_t>();
    const auto words = there.read<uint32_t>(), firsts = first.read<uint32_t>(), seconds = second.read<uint32_t>();
    bool right = true;
    for (uint32_t i = 0; i < 2 * kBlock; ++i) right = right && words[i] == i;
    for (uint32_t i = 0; i < kBlock; ++i)
        right = right && firsts[i] == 1000 + i && seconds[i] == 2000 + i && thirds[i] == (also ? 3000 + i : 0);
    std::printf("children: 1 parent, 2 children, %d launched by the host\n", also);
    return verdict(right);
}
