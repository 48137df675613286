#include "libraries/nccl_ranges.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/thread_id.h"

namespace snoopie {

namespace {

enum What : int { kCommunicator, kBytes, kPeer, kRank, kRanks, kGpu, kReduction, kNothing };

constexpr std::pair<const char*, What> kEntries[] = {{"NCCL communicator ID", kCommunicator},
                                                     {"Message size [bytes]", kBytes},
                                                     {"Peer rank", kPeer},
                                                     {"Root", kPeer},
                                                     {"Rank", kRank},
                                                     {"No. of ranks", kRanks},
                                                     {"CUDA device", kGpu},
                                                     {"Reduction operation", kReduction}};

What what_is(const char* name) {
    if (name)
        for (const auto& [known, what] : kEntries)
            if (std::strcmp(name, known) == 0) return what;
    return kNothing;
}

// Of whole numbers of C, by NVTX's number of the type; 0 for others. Enumerations are as wide as an int.
size_t bytes_of(uint64_t type) {
    constexpr uint8_t kBytes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1, 2, 2, 4, 4, 8, 8, 0, 0, 0, 8, 8};
    constexpr uint64_t kDeclared = 1 << 16;
    return type < std::size(kBytes) ? kBytes[type] : type >= kDeclared ? sizeof(int) : 0;
}

// Calls that move data, and how many messages the larger of a rank's buffers holds.
struct Call {
    std::string_view name;
    const char* operation;
    Extent extent;
};
constexpr Call kCalls[] = {{"ncclAllReduce", "AllReduce", Extent::once},
                           {"ncclReduce", "Reduce", Extent::once},
                           {"ncclReduceScatter", "ReduceScatter", Extent::times_ranks},
                           {"ncclBroadcast", "Broadcast", Extent::once},
                           {"ncclBcast", "Bcast", Extent::once},
                           {"ncclAllGather", "AllGather", Extent::times_ranks},
                           {"ncclAlltoAll", "AlltoAll", Extent::times_ranks},
                           {"ncclAllToAll", "AlltoAll", Extent::times_ranks},
                           {"ncclGather", "Gather", Extent::times_ranks_at_root},
                           {"ncclScatter", "Scatter", Extent::times_ranks_at_root},
                           {"ncclSend", "Send", Extent::once},
                           {"ncclRecv", "Recv", Extent::once}};

enum class Kind { call, group_start, group_end, group_estimate, other };

const Call* find_call(std::string_view name) {
    const auto* const found = std::find_if(std::begin(kCalls), std::end(kCalls), [name](const Call& call) { return call.name == name; });
    return found == std::end(kCalls) ? nullptr : found;
}

Kind kind_of(std::string_view name) {
    if (find_call(name)) return Kind::call;
    if (name == "ncclGroupStart") return Kind::group_start;
    if (name == "ncclGroupEnd") return Kind::group_end;
    return name == "ncclGroupSimulateEnd" ? Kind::group_estimate : Kind::other;
}

}  // namespace

// --- Payloads ---

void NcclPayload::add(const NcclPayload& other) {
    const auto fill = [](auto& own, const auto& more) {
        if (!own) own = more;
    };
    fill(communicator, other.communicator);
    fill(bytes, other.bytes);
    fill(peer, other.peer);
    fill(rank, other.rank);
    fill(ranks, other.ranks);
    fill(gpu, other.gpu);
    fill(reduction, other.reduction);
}

void NcclSchemas::add(uint64_t schema, const std::vector<Entry>& entries) {
    std::vector<Field> fields;
    for (const Entry& entry : entries)
        if (const What what = what_is(entry.name); what != kNothing && bytes_of(entry.type))
            fields.push_back({what, entry.offset, bytes_of(entry.type)});
    const std::unique_lock lock(mutex_);
    if (schemas_.size() < kMost || schemas_.count(schema)) schemas_[schema] = std::move(fields);
}

NcclPayload NcclSchemas::read(uint64_t schema, const void* payload, size_t bytes) const {
    NcclPayload said;
    const std::unique_lock lock(mutex_);
    const auto found = schemas_.find(schema);
    if (found == schemas_.end() || !payload) return said;
    for (const Field& field : found->second) {
        if (field.offset > bytes || field.bytes > bytes - field.offset) continue;
        uint64_t value = 0;
        std::memcpy(&value, static_cast<const char*>(payload) + field.offset, field.bytes);
        const auto number = static_cast<int>(value);
        if (field.what == kCommunicator)
            said.communicator = value;
        else if (field.what == kBytes)
            said.bytes = value;
        else if (number >= 0)
            (field.what == kPeer    ? said.peer
             : field.what == kRank  ? said.rank
             : field.what == kRanks ? said.ranks
             : field.what == kGpu   ? said.gpu
                                    : said.reduction) = number;
    }
    return said;
}

// --- Ranges ---

struct NcclRanges::Thread {
    struct Open {
        Kind kind;
        NcclPayload said;
    };
    std::vector<Open> open;
    size_t calls = 0;  // of them
    std::optional<CollectiveGroup> group;
};

thread_local NcclRanges::Thread* NcclRanges::own_ = nullptr;

NcclRanges& NcclRanges::of_process() {
    static NcclRanges& ranges = *new NcclRanges;
    return ranges;
}

bool& in_passed_call() {
    static thread_local bool inside = false;
    return inside;
}

void NcclRanges::begin(std::string_view name, const NcclPayload& payload) {
    if (in_passed_call()) return;
    if (!own_) own_ = new Thread;
    Thread& thread = *own_;
    const Kind kind = kind_of(name);
    thread.open.push_back({kind, payload});
    if (kind == Kind::group_end && thread.group && thread.group->outermost()) thread.group->execute();
    // What one call does by another is not two.
    if (kind != Kind::call || ++thread.calls != 1) return;
    const Call& called = *find_call(name);
    Collective call;
    call.operation = called.operation;
    call.extent = called.extent;
    call.type = kUnknownType;
    call.message = payload.bytes;
    call.reduction = payload.reduction.value_or(-1);
    call.peer = payload.peer.value_or(-1);
    call.communicator = communicator(payload);
    call.thread = thread_id();
    call.start = now_ns();
    if (!thread.group) thread.group.emplace();
    thread.group->begin(call);
    if (!thread.group->open()) thread.group->execute();
}

void NcclRanges::end(const NcclPayload& payload) {
    if (in_passed_call() || !own_ || own_->open.empty()) return;
    Thread& thread = *own_;
    Thread::Open ended = thread.open.back();
    thread.open.pop_back();
    ended.said.add(payload);
    join(ended.said);
    const bool grouped = thread.group && thread.group->open();
    switch (ended.kind) {
        case Kind::call:
            if (--thread.calls > 0) break;
            thread.group->end(true, now_ns());
            if (!grouped) close(true);
            break;
        case Kind::group_start:
            if (!thread.group) thread.group.emplace();
            thread.group->started();
            break;
        case Kind::group_end:
        case Kind::group_estimate:
            if (!grouped) break;
            if (thread.group->outermost())
                close(ended.kind == Kind::group_end);
            else
                thread.group->ended();
            break;
        case Kind::other:
            break;
    }
    if (thread.open.empty() && !thread.group) delete std::exchange(own_, nullptr);
}

void NcclRanges::close(bool carried_out) {
    const CollectiveGroup::Outcome outcome = own_->group->take();
    own_->group.reset();
    CollectiveSink* const sink = sink_;
    if (sink && carried_out && !outcome.calls.empty()) sink->collectives(outcome.calls);
}

uint32_t NcclRanges::current_group(int gpu) const { return own_ && own_->group ? own_->group->executing_on(gpu) : 0; }

// --- Communicators ---

void NcclRanges::join(const NcclPayload& payload) {
    if (!payload.communicator || !payload.rank || !payload.ranks) return;
    const Communicator member{*payload.communicator, *payload.rank, *payload.ranks, payload.gpu.value_or(kUnknownGpu)};
    const std::unique_lock lock(mutex_);
    if (members_.size() >= kMostCommunicators && members_.count(member.id) == 0) return;
    std::vector<Communicator>& members = members_[member.id];
    const bool known = std::any_of(members.begin(), members.end(), [&](const Communicator& other) { return other.rank == member.rank; });
    if (!known) members.push_back(member);
}

// Which of several ranks of the process calls is not known.
Communicator NcclRanges::communicator(const NcclPayload& payload) const {
    Communicator found{payload.communicator.value_or(0), kUnknownRank, 0, kUnknownGpu};
    const std::unique_lock lock(mutex_);
    const auto members = members_.find(found.id);
    if (members == members_.end()) return found;
    if (members->second.size() == 1) return members->second.front();
    found.ranks = members->second.front().ranks;
    return found;
}

}  // namespace snoopie
