#include "libraries/nccl_calls.h"

#include <atomic>
#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/thread_id.h"
#include "libraries/nccl_ranges.h"
#include "libraries/preloaded.h"

namespace snoopie {

// Of NCCL's interface, which has kept its binary form since version 2.
using Handle = void*;  // ncclComm_t
using Stream = void*;  // cudaStream_t
struct UniqueId {
    char bytes[128];
};

namespace {

constexpr int kSuccess = 0;
constexpr int kSystemError = 2;
constexpr int kInProgress = 7;

constexpr uint64_t kLegacyStream = 1;  // CU_STREAM_LEGACY

std::atomic<CollectiveSink*> receiver{nullptr};

// Never destroyed: programs end communicators while they end themselves.
Communicators& communicators() {
    static auto& all = *new Communicators;
    return all;
}

// Only while the thread has a call or a group under way, so that nothing is left to destroy when it ends.
thread_local CollectiveGroup* group = nullptr;
// Whether the thread is in NCCL, whose own calls of its public functions come here as well.
bool inside() { return in_passed_call(); }

bool succeeded(int result) { return result == kSuccess || result == kInProgress; }

#define REAL(function) hidden_function(&function, #function, __builtin_return_address(0), "fails with ncclSystemError")

template <class Real, class... Arguments>
int pass(Real real, Arguments... arguments) {
    if (!real) return kSystemError;
    const Inside in_nccl(&in_passed_call());
    return real(arguments...);
}

CollectiveGroup& this_group() {
    if (!group) group = new CollectiveGroup;
    return *group;
}

void close_group(bool carried_out) {
    CollectiveGroup::Outcome outcome = group->take();
    delete group;
    group = nullptr;
    if (!carried_out) return;
    for (const CollectiveGroup::Creation& creation : outcome.creations)
        if (*creation.handle) communicators().created(*creation.handle, creation.id);
    CollectiveSink* sink = receiver;
    if (sink && !outcome.calls.empty()) sink->collectives(outcome.calls);
}

// --- Communicators ---

// What NCCL says of it; `nccl` is any function of the library that made it. None if it is not ready.
std::optional<Communicator> describe(Handle handle, const void* nccl) {
    if (!handle) return std::nullopt;
    if (const auto known = communicators().find(handle)) return known;
    const auto ask = [&](const char* name, int* answer) {
        const auto question = reinterpret_cast<int (*)(Handle, int*)>(next_function(name, nccl));
        return question && question(handle, answer) == kSuccess;
    };
    int rank = 0;
    int ranks = 0;
    int gpu = 0;
    if (!ask("ncclCommUserRank", &rank) || !ask("ncclCommCount", &ranks) || !ask("ncclCommCuDevice", &gpu)) return std::nullopt;
    return communicators().describe(handle, rank, ranks, gpu);
}

template <class Real, class... Arguments>
int create(Real real, Handle* made, uint64_t id, Arguments... arguments) {
    const int result = pass(real, arguments...);
    if (inside() || !succeeded(result) || !made) return result;
    attempt([&] {
        if (group && group->open()) {
            group->create({made, id});
        } else if (*made) {
            communicators().created(*made, id);
        }
    });
    return result;
}

uint64_t id_of(const UniqueId* ids, int count) { return fnv1a({ids->bytes, sizeof ids->bytes * static_cast<size_t>(count)}); }

template <class Real>
int destroy(Real real, Handle handle) {
    // Before NCCL frees it, and another thread gets the same.
    if (real && !inside()) attempt([&] { communicators().destroyed(handle); });
    return pass(real, handle);
}

// --- Calls ---

template <class Real, class... Arguments>
int carry_out(Real real, Collective call, Handle handle, Stream stream, Arguments... arguments) {
    bool begun = false;
    if (real && !inside()) {
        attempt([&] {
            const auto communicator = describe(handle, reinterpret_cast<const void*>(real));
            if (!communicator) return;
            call.communicator = *communicator;
            call.stream = stream ? reinterpret_cast<uint64_t>(stream) : kLegacyStream;
            call.thread = thread_id();
            call.start = now_ns();
            this_group().begin(call);
            if (!group->open()) group->execute();
            begun = true;
        });
    }
    const int result = pass(real, arguments...);
    if (begun) {
        attempt([&] {
            group->end(succeeded(result), now_ns());
            if (!group->open()) close_group(true);
        });
    }
    return result;
}

// The end of a group, which carries out its calls or only says how long they would take.
template <class Real, class... Arguments>
int end_group(Real real, bool carries_out, Arguments... arguments) {
    const bool known = real && !inside() && group && group->open();
    const bool last = known && group->outermost();
    if (last && carries_out) group->execute();
    const int result = pass(real, arguments...);
    if (last) attempt([&] { close_group(carries_out && succeeded(result)); });
    if (known && !last) group->ended();
    return result;
}

}  // namespace

void send_collectives_to(CollectiveSink* sink) {
    receiver = sink;
    NcclRanges::of_process().send_to(sink);
}

uint32_t current_collective_group(int gpu) { return group ? group->executing_on(gpu) : NcclRanges::of_process().current_group(gpu); }

}  // namespace snoopie

// --- What NCCL calls these ---

using namespace snoopie;

extern "C" {

int ncclCommInitRank(Handle* made, int ranks, UniqueId id, int rank) {
    return create(REAL(ncclCommInitRank), made, id_of(&id, 1), made, ranks, id, rank);
}

int ncclCommInitRankConfig(Handle* made, int ranks, UniqueId id, int rank, void* config) {
    return create(REAL(ncclCommInitRankConfig), made, id_of(&id, 1), made, ranks, id, rank, config);
}

int ncclCommInitRankScalable(Handle* made, int ranks, int rank, int count, UniqueId* ids, void* config) {
    const uint64_t id = ids && count > 0 ? id_of(ids, count) : 0;
    return create(REAL(ncclCommInitRankScalable), made, id, made, ranks, rank, count, ids, config);
}

int ncclCommInitAll(Handle* made, int count, const int* gpus) {
    const int result = pass(REAL(ncclCommInitAll), made, count, gpus);
    if (inside() || !succeeded(result)) return result;
    attempt([&] {
        const uint64_t id = Communicators::private_id();
        for (int i = 0; i < count; ++i) communicators().created(made[i], id);
    });
    return result;
}

int ncclCommSplit(Handle parent, int color, int key, Handle* made, void* config) {
    uint64_t id = 0;
    if (!inside()) attempt([&] { id = communicators().split(parent, color); });
    return create(REAL(ncclCommSplit), made, id, parent, color, key, made, config);
}

int ncclCommDestroy(Handle handle) { return destroy(REAL(ncclCommDestroy), handle); }

int ncclCommAbort(Handle handle) { return destroy(REAL(ncclCommAbort), handle); }

int ncclGroupStart() {
    const int result = pass(REAL(ncclGroupStart));
    if (!inside() && succeeded(result)) attempt([] { this_group().started(); });
    return result;
}

int ncclGroupEnd() { return end_group(REAL(ncclGroupEnd), true); }

int ncclGroupSimulateEnd(void* estimate) { return end_group(REAL(ncclGroupSimulateEnd), false, estimate); }

int ncclAllReduce(const void* from, void* to, size_t count, int type, int reduction, Handle handle, Stream stream) {
    return carry_out(REAL(ncclAllReduce), {"AllReduce", type, count, reduction}, handle, stream,  //
                     from, to, count, type, reduction, handle, stream);
}

int ncclReduce(const void* from, void* to, size_t count, int type, int reduction, int root, Handle handle, Stream stream) {
    return carry_out(REAL(ncclReduce), {"Reduce", type, count, reduction, root}, handle, stream,  //
                     from, to, count, type, reduction, root, handle, stream);
}

int ncclReduceScatter(const void* from, void* to, size_t count, int type, int reduction, Handle handle, Stream stream) {
    return carry_out(REAL(ncclReduceScatter), {"ReduceScatter", type, count, reduction, -1, Extent::times_ranks}, handle, stream,  //
                     from, to, count, type, reduction, handle, stream);
}

int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, Handle handle, Stream stream) {
    return carry_out(REAL(ncclBroadcast), {"Broadcast", type, count, -1, root}, handle, stream,  //
                     from, to, count, type, root, handle, stream);
}

int ncclBcast(void* buffer, size_t count, int type, int root, Handle handle, Stream stream) {
    return carry_out(REAL(ncclBcast), {"Bcast", type, count, -1, root}, handle, stream,  //
                     buffer, count, type, root, handle, stream);
}

int ncclAllGather(const void* from, void* to, size_t count, int type, Handle handle, Stream stream) {
    return carry_out(REAL(ncclAllGather), {"AllGather", type, count, -1, -1, Extent::times_ranks}, handle, stream,  //
                     from, to, count, type, handle, stream);
}

int ncclAlltoAll(const void* from, void* to, size_t count, int type, Handle handle, Stream stream) {
    return carry_out(REAL(ncclAlltoAll), {"AlltoAll", type, count, -1, -1, Extent::times_ranks}, handle, stream,  //
                     from, to, count, type, handle, stream);
}

int ncclGather(const void* from, void* to, size_t count, int type, int root, Handle handle, Stream stream) {
    return carry_out(REAL(ncclGather), {"Gather", type, count, -1, root, Extent::times_ranks_at_root}, handle, stream,  //
                     from, to, count, type, root, handle, stream);
}

int ncclScatter(const void* from, void* to, size_t count, int type, int root, Handle handle, Stream stream) {
    return carry_out(REAL(ncclScatter), {"Scatter", type, count, -1, root, Extent::times_ranks_at_root}, handle, stream,  //
                     from, to, count, type, root, handle, stream);
}

int ncclSend(const void* from, size_t count, int type, int peer, Handle handle, Stream stream) {
    return carry_out(REAL(ncclSend), {"Send", type, count, -1, peer}, handle, stream,  //
                     from, count, type, peer, handle, stream);
}

int ncclRecv(void* to, size_t count, int type, int peer, Handle handle, Stream stream) {
    return carry_out(REAL(ncclRecv), {"Recv", type, count, -1, peer}, handle, stream,  //
                     to, count, type, peer, handle, stream);
}

}  // extern "C"
