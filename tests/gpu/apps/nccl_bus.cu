// nccl_bus MIB ITERS: all-reduces of MIB × 2^20 bytes by one process for all GPUs, ITERS of them after five that do not count. Prints the
// bus bandwidth by events, as nccl-tests defines it: 2 (n - 1) / n of the bytes, over the time of one.
#include <algorithm>
#include <vector>

#include "nccl_common.cuh"
#include "ranks.cuh"

int main(int argc, char** argv) {
    without_multicast();
    const char* usage = "nccl_bus MIB ITERS    (MIB from 1 to 4096, ITERS from 1 to 1000)";
    const size_t bytes = size_t(argument(argc == 3 ? argv[1] : nullptr, 1, 4096, usage)) << 20;
    const long iterations = argument(argc == 3 ? argv[2] : nullptr, 1, 1000, usage);
    const int gpus = open_gpus("nccl_bus");
    std::vector<ncclComm_t> communicators(gpus);
    NCCL_CHECK(ncclCommInitAll(communicators.data(), gpus, nullptr));
    std::vector<float*> buffers(gpus);
    std::vector<cudaStream_t> streams(gpus);
    std::vector<cudaEvent_t> begin(gpus), end(gpus);
    for (int gpu = 0; gpu < gpus; ++gpu) {
        CHECK(cudaSetDevice(gpu));
        CHECK(cudaMalloc(&buffers[gpu], bytes));
        CHECK(cudaMemset(buffers[gpu], 0, bytes));
        CHECK(cudaStreamCreate(&streams[gpu]));
        CHECK(cudaEventCreate(&begin[gpu]));
        CHECK(cudaEventCreate(&end[gpu]));
        CHECK(cudaDeviceSynchronize());
    }
    const auto mark = [&](std::vector<cudaEvent_t>& events) {
        for (int gpu = 0; gpu < gpus; ++gpu) {
            CHECK(cudaSetDevice(gpu));
            CHECK(cudaEventRecord(events[gpu], streams[gpu]));
        }
    };
    for (long i = -5; i < iterations; ++i) {
        if (i == 0) mark(begin);
        NCCL_CHECK(ncclGroupStart());
        for (int gpu = 0; gpu < gpus; ++gpu)
            NCCL_CHECK(
                ncclAllReduce(buffers[gpu], buffers[gpu], bytes / sizeof(float), ncclFloat, ncclSum, communicators[gpu], streams[gpu]));
        NCCL_CHECK(ncclGroupEnd());
    }
    mark(end);
    float longest = 0;
    for (int gpu = 0; gpu < gpus; ++gpu) {
        CHECK(cudaSetDevice(gpu));
        CHECK(cudaStreamSynchronize(streams[gpu]));
        float milliseconds = 0;
        CHECK(cudaEventElapsedTime(&milliseconds, begin[gpu], end[gpu]));
        longest = std::max(longest, milliseconds);
    }
    const double factor = 2.0 * (gpus - 1) / gpus;
    std::printf("bus %.3f GB/s\n", factor * bytes * iterations / (longest / 1e3) / 1e9);
    for (ncclComm_t communicator : communicators) NCCL_CHECK(ncclCommDestroy(communicator));
    return verdict(true);
}
