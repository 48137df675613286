// What the tests use of NCCL's interface, for fake_nccl.cpp, which moves nothing.
#pragma once

#include <cstddef>

struct FakeComm {
    int rank;
    int ranks;
    int gpu;
};

extern "C" {

typedef FakeComm* ncclComm_t;
typedef void* cudaStream_t;
typedef struct {
    char internal[128];
} ncclUniqueId;

enum { ncclSuccess = 0, ncclSystemError = 2, ncclInvalidArgument = 4, ncclInProgress = 7 };
enum { ncclInt8 = 0, ncclFloat32 = 7, ncclBfloat16 = 9 };
enum { ncclSum = 0, ncclMax = 2, ncclAvg = 4 };

// Counts that the fake does not take as usual.
constexpr size_t kRefused = 666;        // the call fails
constexpr size_t kFailsAtTheEnd = 667;  // the end of its group fails
constexpr size_t kInProgress = 668;     // the call returns ncclInProgress

// In cudaSetDevice's place: of the communicators that the calling thread makes from now on.
void fake_set_gpu(int gpu);

// A communicator made by a function that the collector knows nothing of.
ncclComm_t fake_comm();

// Defined by print_collectives.cpp, if it is preloaded.
__attribute__((weak)) void fake_launch(int gpu);  // a kernel is launched
__attribute__((weak)) void fake_context();        // there is somebody to tell from now on

int ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
int ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, void* config);
int ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int count, ncclUniqueId* ids, void* config);
int ncclCommInitAll(ncclComm_t* comms, int count, const int* gpus);
int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, void* config);
int ncclCommDestroy(ncclComm_t comm);
int ncclCommAbort(ncclComm_t comm);
int ncclCommCount(ncclComm_t comm, int* count);
int ncclCommCuDevice(ncclComm_t comm, int* gpu);
int ncclCommUserRank(ncclComm_t comm, int* rank);
int ncclGroupStart();
int ncclGroupEnd();
int ncclGroupSimulateEnd(void* estimate);
int ncclAllReduce(const void* from, void* to, size_t count, int type, int reduction, ncclComm_t comm, cudaStream_t stream);
int ncclReduce(const void* from, void* to, size_t count, int type, int reduction, int root, ncclComm_t comm, cudaStream_t stream);
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int reduction, ncclComm_t comm, cudaStream_t stream);
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, ncclComm_t comm, cudaStream_t stream);
int ncclBcast(void* buffer, size_t count, int type, int root, ncclComm_t comm, cudaStream_t stream);
int ncclAllGather(const void* from, void* to, size_t count, int type, ncclComm_t comm, cudaStream_t stream);
int ncclAlltoAll(const void* from, void* to, size_t count, int type, ncclComm_t comm, cudaStream_t stream);
int ncclGather(const void* from, void* to, size_t count, int type, int root, ncclComm_t comm, cudaStream_t stream);
int ncclScatter(const void* from, void* to, size_t count, int type, int root, ncclComm_t comm, cudaStream_t stream);
int ncclSend(const void* from, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t stream);
int ncclRecv(void* to, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t stream);

}  // extern "C"
