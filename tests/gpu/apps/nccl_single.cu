// nccl_single N: NCCL with one process for all GPUs, N floats a rank, N a multiple of the GPUs. See nccl_common.cuh.
#include "nccl_common.cuh"
#include "ranks.cuh"

int main(int argc, char** argv) {
    without_multicast();
    const size_t n = argument(argc == 2 ? argv[1] : nullptr, 1, 1 << 28, "nccl_single N    (from 1 to 2^28)");
    const int gpus = open_gpus("nccl_single");
    std::vector<ncclComm_t> communicators(gpus);
    NCCL_CHECK(ncclCommInitAll(communicators.data(), gpus, nullptr));
    std::vector<Rank> ranks;
    for (int gpu = 0; gpu < gpus; ++gpu) ranks.push_back({gpu, gpu, communicators[gpu], nullptr, nullptr, nullptr});
    const bool right = Operations(ranks, gpus, n).run();
    for (ncclComm_t communicator : communicators) NCCL_CHECK(ncclCommDestroy(communicator));
    return verdict(right);
}
