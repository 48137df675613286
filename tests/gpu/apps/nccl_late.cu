// nccl_late FILE: NCCL with one process a GPU. All ranks sum once; then rank 0 sums again and the others never do. It runs until it is
// ended.
#include <chrono>
#include <thread>

#include "nccl_common.cuh"
#include "ranks.cuh"

int main(int argc, char** argv) {
    without_multicast();
    if (argc != 2) argument(nullptr, 0, 0, "nccl_late FILE");
    const Place place = take_place("nccl_late");
    ncclUniqueId id{};
    if (place.rank == 0) NCCL_CHECK(ncclGetUniqueId(&id));
    share(&id, place.rank, argv[1]);
    ncclComm_t communicator = nullptr;
    NCCL_CHECK(ncclCommInitRank(&communicator, place.ranks, id, place.rank));
    cudaStream_t stream = nullptr;
    float* data = nullptr;
    constexpr size_t kCount = 1 << 16;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&data, kCount * sizeof(float)));
    CHECK(cudaMemset(data, 0, kCount * sizeof(float)));
    NCCL_CHECK(ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, communicator, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (place.rank == 0) NCCL_CHECK(ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, communicator, stream));
    std::this_thread::sleep_for(std::chrono::minutes(10));
    return 1;
}
