// A libnccl that moves nothing: it keeps to NCCL's rules of groups, prints each call that reaches it, and says when it would launch.
// FAKE_NAME tells several of them apart.
#include "fake_nccl.h"

#include <cstdio>
#include <vector>

namespace {

struct Creation {
    ncclComm_t* slot;
    ncclComm_t comm;
};

thread_local int current_gpu = 0;
thread_local int depth = 0;
thread_local std::vector<int> waiting;         // GPUs to launch on
thread_local std::vector<Creation> creations;  // of communicators, whose handles appear at the end of the group
thread_local bool end_fails = false;
thread_local ncclComm_t destroyed = nullptr;  // its memory is the next one's, as a heap often does

void launch(int gpu) {
    if (fake_launch) fake_launch(gpu);
}

int call(const char* name, size_t count, ncclComm_t comm) {
    std::printf("reached library=%s function=%s\n", FAKE_NAME, name);
    if (count == kRefused || !comm) return ncclInvalidArgument;
    if (depth > 0) {
        waiting.push_back(comm->gpu);
        end_fails = end_fails || count == kFailsAtTheEnd;
    } else {
        launch(comm->gpu);
    }
    return count == kInProgress ? ncclInProgress : ncclSuccess;
}

int make(ncclComm_t* slot, int rank, int ranks, int gpu) {
    const ncclComm_t comm = destroyed ? destroyed : new FakeComm;
    destroyed = nullptr;
    *comm = {rank, ranks, gpu};
    if (depth > 0) {
        creations.push_back({slot, comm});
    } else {
        *slot = comm;
    }
    return ncclSuccess;
}

int end_group(bool carry_out) {
    if (depth == 0) return ncclInvalidArgument;
    if (--depth > 0) return ncclSuccess;
    const bool failed = end_fails;
    for (const Creation& creation : creations) *creation.slot = creation.comm;
    if (carry_out && !failed)
        for (const int gpu : waiting) launch(gpu);
    waiting.clear();
    creations.clear();
    end_fails = false;
    return failed ? 1 : ncclSuccess;
}

}  // namespace

extern "C" {

void fake_set_gpu(int gpu) { current_gpu = gpu; }

ncclComm_t fake_comm() {
    ncclComm_t comm = nullptr;
    make(&comm, 0, 2, current_gpu);
    return comm;
}

int ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId, int rank) { return make(comm, rank, ranks, current_gpu); }
int ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId, int rank, void*) { return make(comm, rank, ranks, current_gpu); }
int ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int, ncclUniqueId*, void*) {
    return make(comm, rank, ranks, current_gpu);
}
// By public functions, as some versions do; the test's NCCL can be preempted as the real one can.
int ncclCommInitAll(ncclComm_t* comms, int count, const int* gpus) {
    ncclGroupStart();
    for (int i = 0; i < count; ++i) make(&comms[i], i, count, gpus ? gpus[i] : i);
    return ncclGroupEnd();
}
int ncclCommSplit(ncclComm_t comm, int color, int, ncclComm_t* made, void*) {
    if (color >= 0) return make(made, comm->rank, comm->ranks, comm->gpu);
    *made = nullptr;
    return ncclSuccess;
}
int ncclCommDestroy(ncclComm_t comm) {
    delete destroyed;
    destroyed = comm;
    return ncclSuccess;
}
int ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }
int ncclCommCount(ncclComm_t comm, int* count) {
    *count = comm->ranks;
    return ncclSuccess;
}
int ncclCommCuDevice(ncclComm_t comm, int* gpu) {
    *gpu = comm->gpu;
    return ncclSuccess;
}
int ncclCommUserRank(ncclComm_t comm, int* rank) {
    *rank = comm->rank;
    return ncclSuccess;
}

int ncclGroupStart() {
    ++depth;
    return ncclSuccess;
}
int ncclGroupEnd() { return end_group(true); }
int ncclGroupSimulateEnd(void*) { return end_group(false); }

int ncclAllReduce(const void*, void*, size_t count, int, int, ncclComm_t comm, cudaStream_t) { return call("AllReduce", count, comm); }
int ncclReduce(const void*, void*, size_t count, int, int, int, ncclComm_t comm, cudaStream_t) { return call("Reduce", count, comm); }
int ncclReduceScatter(const void*, void*, size_t count, int, int, ncclComm_t comm, cudaStream_t) {
    return call("ReduceScatter", count, comm);
}
int ncclBroadcast(const void*, void*, size_t count, int, int, ncclComm_t comm, cudaStream_t) { return call("Broadcast", count, comm); }
int ncclBcast(void* buffer, size_t count, int type, int root, ncclComm_t comm, cudaStream_t stream) {
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
int ncclAllGather(const void*, void*, size_t count, int, ncclComm_t comm, cudaStream_t) { return call("AllGather", count, comm); }
int ncclAlltoAll(const void*, void*, size_t count, int, ncclComm_t comm, cudaStream_t) { return call("AlltoAll", count, comm); }
int ncclGather(const void*, void*, size_t count, int, int, ncclComm_t comm, cudaStream_t) { return call("Gather", count, comm); }
int ncclScatter(const void*, void*, size_t count, int, int, ncclComm_t comm, cudaStream_t) { return call("Scatter", count, comm); }
int ncclSend(const void*, size_t count, int, int, ncclComm_t comm, cudaStream_t) { return call("Send", count, comm); }
int ncclRecv(void*, size_t count, int, int, ncclComm_t comm, cudaStream_t) { return call("Recv", count, comm); }

}  // extern "C"
