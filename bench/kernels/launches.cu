// launches [calls]: one block of one warp that counts up in the peer's memory, launched again and again. What is measured is until the last
// has ended, or the host's calls alone.
#include "bench.cuh"

constexpr int kLanes = 32;

__global__ void tick(uint32_t* counters) { atomicAdd(counters + threadIdx.x, 1u); }

int main(int argc, char** argv) {
    const bool calls = argc > 1 && std::strcmp(argv[1], "calls") == 0;
    Arguments arguments = read_arguments(argc - calls, argv + calls);
    arguments.mapping = true;
    prepare_gpu("launches", arguments);
    uint32_t* counters = nullptr;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&counters, kLanes * sizeof(uint32_t)));
    CHECK(cudaMemset(counters, 0, kLanes * sizeof(uint32_t)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));

    Measurement measurement(arguments);
    measurement.by_clock(
        [&] {
            tick<<<1, kLanes>>>(counters);
            CHECK(cudaGetLastError());
        },
        [] { CHECK(cudaDeviceSynchronize()); }, !calls);

    std::vector<uint32_t> result(kLanes);
    CHECK(cudaMemcpy(result.data(), counters, kLanes * sizeof(uint32_t), cudaMemcpyDefault));
    return measurement.report(result == std::vector<uint32_t>(kLanes, measurement.launches()));
}
