// waiting SECONDS: a kernel on GPU 0 stores to far memory (far_place), then waits for so long until the host writes a word of GPU 0's
// memory, and stores again.
//
// Remote traffic:
//   kernel  line    operation  accesses  lanes  bytes/lane  sectors
//   wait    before  store      1         32     4           4
//           after   store      1         32     4           4
#include <chrono>
#include <cstdint>
#include <thread>

#include "arrays.cuh"

__global__ void wait(uint32_t* there, const volatile uint32_t* flag) {
    there[threadIdx.x] = threadIdx.x + 1;  // remote: before
    while (*flag == 0) __nanosleep(1000);
    there[32 + threadIdx.x] = threadIdx.x + 2;  // remote: after
}

int main(int argc, char** argv) {
    const int seconds = argument(argc == 2 ? argv[1] : nullptr, 0, 600, "waiting SECONDS    (0 to 600)");
    const Array there(far_place("waiting")), flag(0);
    cudaStream_t kernel, host;
    CHECK(cudaStreamCreateWithFlags(&kernel, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&host, cudaStreamNonBlocking));
    wait<<<1, 32, 0, kernel>>>(there, flag);
    CHECK(cudaGetLastError());
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    const uint32_t go = 1;
    CHECK(cudaMemcpyAsync(flag, &go, sizeof go, cudaMemcpyHostToDevice, host));
    CHECK(cudaStreamSynchronize(kernel));
    const auto words = there.read<uint32_t>();
    bool right = true;
    for (uint32_t i = 0; i < 32; ++i) right = right && words[i] == i + 1 && words[32 + i] == i + 2;
    return verdict(right);
}
