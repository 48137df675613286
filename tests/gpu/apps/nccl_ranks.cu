// nccl_ranks FILE N: NCCL with one process a GPU, N floats a rank, N a multiple of the ranks. See nccl_common.cuh.
//
// A launcher says which rank this is; rank 0 tells the others the communicator's id through FILE.
#include "nccl_common.cuh"
#include "ranks.cuh"

int main(int argc, char** argv) {
    without_multicast();
    const size_t n = argument(argc == 3 ? argv[2] : nullptr, 1, 1 << 28, "nccl_ranks FILE N    (from 1 to 2^28)");
    const Place place = take_place("nccl_ranks");
    ncclUniqueId id{};
    if (place.rank == 0) NCCL_CHECK(ncclGetUniqueId(&id));
    share(&id, place.rank, argv[1]);
    ncclComm_t communicator = nullptr;
    NCCL_CHECK(ncclCommInitRank(&communicator, place.ranks, id, place.rank));
    const bool right = Operations({{place.rank, place.rank, communicator, nullptr, nullptr, nullptr}}, place.ranks, n).run();
    NCCL_CHECK(ncclCommDestroy(communicator));
    return verdict(right);
}
