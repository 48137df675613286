// What a program does with NCCL, by name. Linked with it, or as a plugin that brings it along.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <thread>

#include "fake_nccl.h"

namespace {

cudaStream_t const kStream = reinterpret_cast<cudaStream_t>(0x70);
void* const kBuffer = nullptr;

ncclUniqueId unique_id(const char* text) {
    ncclUniqueId id{};
    std::strncpy(id.internal, text, sizeof id.internal);
    return id;
}

ncclComm_t one_comm(int ranks = 4, int rank = 2, int gpu = 1, const char* id = "one") {
    ncclComm_t comm = nullptr;
    fake_set_gpu(gpu);
    ncclCommInitRank(&comm, ranks, unique_id(id), rank);
    return comm;
}

int all_reduce(ncclComm_t comm, size_t count = 10) { return ncclAllReduce(kBuffer, kBuffer, count, ncclFloat32, ncclSum, comm, kStream); }

void every_call() {
    const ncclComm_t comm = one_comm();
    ncclAllReduce(kBuffer, kBuffer, 10, ncclFloat32, ncclAvg, comm, kStream);
    ncclReduce(kBuffer, kBuffer, 10, ncclBfloat16, ncclMax, 3, comm, nullptr);
    ncclReduceScatter(kBuffer, kBuffer, 10, ncclFloat32, ncclSum, comm, kStream);
    ncclBroadcast(kBuffer, kBuffer, 10, ncclInt8, 0, comm, kStream);
    ncclBcast(kBuffer, 10, ncclInt8, 1, comm, kStream);
    ncclAllGather(kBuffer, kBuffer, 10, ncclFloat32, comm, kStream);
    ncclAlltoAll(kBuffer, kBuffer, 10, ncclFloat32, comm, kStream);
    ncclGather(kBuffer, kBuffer, 10, ncclFloat32, 2, comm, kStream);
    ncclScatter(kBuffer, kBuffer, 10, ncclFloat32, 0, comm, kStream);
    ncclSend(kBuffer, 10, ncclFloat32, 3, comm, kStream);
    ncclRecv(kBuffer, 10, ncclFloat32, 1, comm, kStream);
    ncclCommDestroy(comm);
}

void groups() {
    ncclComm_t comms[2];
    ncclGroupStart();
    for (int i = 0; i < 2; ++i) {
        fake_set_gpu(i);
        ncclCommInitRank(&comms[i], 2, unique_id("grouped"), i);
    }
    ncclGroupEnd();
    ncclGroupStart();
    for (const ncclComm_t comm : comms) all_reduce(comm);
    ncclGroupStart();
    ncclSend(kBuffer, 5, ncclFloat32, 1, comms[0], kStream);
    ncclRecv(kBuffer, 5, ncclFloat32, 0, comms[1], kStream);
    ncclGroupEnd();
    fake_launch(1);  // a kernel of the program's own
    ncclGroupEnd();
    all_reduce(comms[1]);
    fake_launch(1);
}

void failures() {
    const ncclComm_t comm = one_comm();
    std::printf("result=%d\n", all_reduce(comm, kRefused));
    std::printf("result=%d\n", all_reduce(nullptr));
    std::printf("result=%d\n", all_reduce(comm, kInProgress));
    ncclGroupStart();
    std::printf("result=%d\n", all_reduce(comm, kRefused));
    all_reduce(comm, 20);
    std::printf("result=%d\n", ncclGroupEnd());
    ncclGroupStart();
    all_reduce(comm, kFailsAtTheEnd);
    std::printf("result=%d\n", ncclGroupEnd());
    ncclGroupStart();
    all_reduce(comm, 30);
    std::printf("result=%d\n", ncclGroupSimulateEnd(nullptr));
    std::printf("result=%d\n", ncclGroupEnd());  // of no group
    all_reduce(comm, 40);
}

void identities() {
    ncclUniqueId ids[2] = {unique_id("a"), unique_id("b")};
    ncclComm_t comm = nullptr;
    for (int i = 0; i < 2; ++i) {
        ncclCommInitRankConfig(&comm, 2, ids[i], 0, nullptr);
        all_reduce(comm);
        ncclCommDestroy(comm);
    }
    ncclCommInitRankScalable(&comm, 2, 0, 2, ids, nullptr);
    all_reduce(comm);
    ncclCommAbort(comm);
    comm = fake_comm();  // where the last one was
    all_reduce(comm);

    const int gpus[2] = {1, 0};
    ncclComm_t all[2];
    ncclCommInitAll(all, 2, gpus);
    ncclComm_t halves[2];
    for (int i = 0; i < 2; ++i) ncclCommSplit(all[i], 0, i, &halves[i], nullptr);
    ncclComm_t none = nullptr;
    ncclCommSplit(all[0], -1, 0, &none, nullptr);
    ncclGroupStart();
    for (const ncclComm_t each : {all[0], all[1], halves[0], halves[1]}) all_reduce(each);
    ncclGroupEnd();
}

void late() {
    const ncclComm_t comm = one_comm();
    all_reduce(comm, 1);
    ncclGroupStart();
    all_reduce(comm, 2);
    fake_context();
    all_reduce(comm, 3);
    ncclGroupEnd();
}

void threads() {
    std::thread workers[2];
    for (int i = 0; i < 2; ++i) {
        workers[i] = std::thread([i] {
            const ncclComm_t comm = one_comm(2, i, i);
            std::printf("worker gpu=%d thread=%ld\n", i, syscall(SYS_gettid));
            for (int n = 0; n < 1000; ++n) {
                ncclGroupStart();
                all_reduce(comm);
                all_reduce(comm);
                ncclGroupEnd();
            }
            ncclCommDestroy(comm);
        });
    }
    for (std::thread& worker : workers) worker.join();
}

void by_name() {
    const auto found = reinterpret_cast<decltype(&ncclAllReduce)>(dlsym(RTLD_DEFAULT, "ncclAllReduce"));
    std::printf("result=%d\n", found(kBuffer, kBuffer, 10, ncclFloat32, ncclSum, one_comm(), kStream));
}

// A communicator that outlives main's thread-local and static objects.
struct AtExit {
    ncclComm_t comm = nullptr;
    ~AtExit() {
        if (!comm) return;
        all_reduce(comm);
        ncclCommDestroy(comm);
    }
};
AtExit at_exit;

void at_the_end() { at_exit.comm = one_comm(); }

}  // namespace

extern "C" int run_scenario(const char* name) {
    const struct {
        const char* name;
        void (*run)();
    } scenarios[] = {
        {"every_call", every_call}, {"groups", groups},   {"failures", failures},    {"identities", identities}, {"late", late},
        {"threads", threads},       {"by_name", by_name}, {"at_the_end", at_the_end}};
    for (const auto& scenario : scenarios) {
        if (std::strcmp(scenario.name, name) != 0) continue;
        scenario.run();
        return 0;
    }
    return 2;
}
