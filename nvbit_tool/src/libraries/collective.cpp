#include "libraries/collective.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/clock.h"

namespace snoopie {

namespace {

struct Type {
    const char* name;
    uint32_t bytes;
};

// In the order of NCCL's numbers, as are the reductions.
constexpr Type kTypes[] = {{"int8", 1},    {"uint8", 1},   {"int32", 4},   {"uint32", 4},   {"int64", 8},      {"uint64", 8},
                           {"float16", 2}, {"float32", 4}, {"float64", 8}, {"bfloat16", 2}, {"float8e4m3", 1}, {"float8e5m2", 1}};
constexpr const char* kReductions[] = {"sum", "prod", "max", "min", "avg"};

const Type* find_type(int type) { return type >= 0 && static_cast<size_t>(type) < std::size(kTypes) ? &kTypes[type] : nullptr; }

std::string reduction_name(int reduction) {
    if (reduction < 0) return "";
    return static_cast<size_t>(reduction) < std::size(kReductions) ? kReductions[reduction] : "custom";
}

template <class... Values>
uint64_t fnv1a_of(uint64_t hash, const Values&... values) {
    ((hash = fnv1a({reinterpret_cast<const char*>(&values), sizeof values}, hash)), ...);
    return hash;
}

}  // namespace

std::string collective_type(int type) {
    const Type* known = find_type(type);
    return known ? known->name : "type " + std::to_string(type);
}

std::optional<uint64_t> collective_bytes(const Collective& call) {
    const Type* type = find_type(call.type);
    if (call.type == kUnknownType && !call.message) return std::nullopt;
    const uint64_t message = call.message ? *call.message : type ? call.count * type->bytes : 0;
    const Communicator& communicator = call.communicator;
    if (call.extent == Extent::once ||
        (call.extent == Extent::times_ranks_at_root && communicator.rank >= 0 && call.peer != communicator.rank))
        return message;
    if (communicator.ranks == 0 || (call.extent == Extent::times_ranks_at_root && communicator.rank < 0)) return std::nullopt;
    return message * static_cast<uint64_t>(communicator.ranks);
}

CollectiveRow collective_row(uint32_t id, const Collective& call, const std::function<uint32_t(const std::string&)>& intern) {
    CollectiveRow row;
    row.id = id;
    row.group = call.group;
    row.operation = intern(call.operation);
    row.reduction = intern(reduction_name(call.reduction));
    const std::optional<uint64_t> bytes = collective_bytes(call);
    const bool typed = call.type != kUnknownType;
    row.type = typed ? intern(collective_type(call.type)) : 0;
    row.count = typed ? static_cast<i8>(call.count) : -1;
    row.bytes = bytes ? static_cast<i8>(*bytes) : -1;
    row.peer = call.peer;
    row.communicator = call.communicator.id;
    if (call.communicator.rank >= 0) {
        row.rank = static_cast<u4>(call.communicator.rank);
        row.ranks = static_cast<u4>(call.communicator.ranks);
    }
    row.gpu = static_cast<u1>(call.communicator.gpu);
    row.stream = call.stream;
    row.thread = call.thread;
    row.start = call.start;
    row.end = call.end;
    return row;
}

uint64_t fnv1a(std::string_view bytes, uint64_t hash) {
    for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
    return hash;
}

// --- Communicators ---

uint64_t Communicators::private_id() {
    static const uint64_t process = [] {
        uint64_t random = 0;
        return getrandom(&random, sizeof random, 0) == sizeof random ? random : now_ns();
    }();
    static std::atomic<uint64_t> last{0};
    return fnv1a_of(kFnvBasis, process, getpid(), ++last);
}

Communicators::Entry& Communicators::entry(const void* handle) {
    Entry& entry = entries_[handle];
    if (entry.communicator.id == 0) entry.communicator.id = private_id();
    return entry;
}

void Communicators::created(const void* handle, uint64_t id) {
    std::unique_lock lock(mutex_);
    Entry fresh;
    fresh.communicator.id = id;
    entries_[handle] = fresh;
}

void Communicators::destroyed(const void* handle) {
    std::unique_lock lock(mutex_);
    entries_.erase(handle);
}

uint64_t Communicators::split(const void* parent, int color) {
    std::unique_lock lock(mutex_);
    Entry& from = entry(parent);
    return fnv1a_of(kFnvBasis, from.communicator.id, ++from.splits, color);
}

std::optional<Communicator> Communicators::find(const void* handle) const {
    std::unique_lock lock(mutex_);
    const auto found = entries_.find(handle);
    if (found == entries_.end() || !found->second.described) return std::nullopt;
    return found->second.communicator;
}

Communicator Communicators::describe(const void* handle, int rank, int ranks, int gpu) {
    std::unique_lock lock(mutex_);
    Entry& described = entry(handle);
    described.described = true;
    described.communicator = {described.communicator.id, rank, ranks, gpu};
    return described.communicator;
}

// --- Groups ---

CollectiveGroup::CollectiveGroup()
    : id_([] {
          static std::atomic<uint32_t> last{0};
          return ++last;
      }()) {}

uint32_t CollectiveGroup::executing_on(int gpu) const {
    const auto touches = [gpu](const Collective& call) { return call.communicator.gpu == gpu || call.communicator.gpu == kUnknownGpu; };
    return executing_ && std::any_of(outcome_.calls.begin(), outcome_.calls.end(), touches) ? id_ : 0;
}

void CollectiveGroup::begin(Collective call) {
    call.group = id_;
    outcome_.calls.push_back(call);
}

void CollectiveGroup::end(bool succeeded, uint64_t time) {
    if (succeeded) {
        outcome_.calls.back().end = time;
    } else {
        outcome_.calls.pop_back();
    }
}

}  // namespace snoopie
