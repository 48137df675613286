// NCCL calls as the trace tells of them: communicators, groups, sizes and names. Bookkeeping alone; nccl_calls.cpp feeds it.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/schema.h"

namespace snoopie {

// Of calls that are known by NCCL's ranges alone.
constexpr int kUnknownRank = -1, kUnknownGpu = -1, kUnknownType = -1;

// One rank's end of a communicator.
struct Communicator {
    uint64_t id = 0;
    int rank = 0;
    int ranks = 0;  // 0 = unknown
    int gpu = 0;    // ordinal
};

// How many times the count of the call the larger of a rank's buffers holds.
enum class Extent : uint8_t { once, times_ranks, times_ranks_at_root };

struct Collective {
    const char* operation = "";  // NCCL's name of the call without "nccl"
    int type = 0;                // ncclDataType_t
    uint64_t count = 0;          // elements, as the call was given them
    int reduction = -1;          // ncclRedOp_t, -1 = does not reduce
    int peer = -1;               // root, or peer, -1 = has none
    Extent extent = Extent::once;
    std::optional<uint64_t> message{};  // bytes of a message, in the place of count and type

    Communicator communicator{};
    uint32_t group = 0;
    uint64_t stream = 0;
    uint32_t thread = 0;
    uint64_t start = 0;  // host times
    uint64_t end = 0;
};

// The element type's name.
std::string collective_type(int type);

// Size of the larger of the rank's buffers; 0 for a type that this version does not know, none if too little is known of the call.
std::optional<uint64_t> collective_bytes(const Collective& call);

CollectiveRow collective_row(uint32_t id, const Collective& call, const std::function<uint32_t(const std::string&)>& intern);

constexpr uint64_t kFnvBasis = 0xcbf29ce484222325;
uint64_t fnv1a(std::string_view bytes, uint64_t hash = kFnvBasis);

// The communicators of this process, by NCCL's handles.
class Communicators {
  public:
    // An id that no other communicator has, in this process or another.
    static uint64_t private_id();

    void created(const void* handle, uint64_t id);
    void destroyed(const void* handle);
    // The id of the next communicator that a split of `parent` with this color makes. All ranks of the parent split it equally often, so
    // that they agree, in all processes.
    uint64_t split(const void* parent, int color);

    // None until the handle has been described.
    std::optional<Communicator> find(const void* handle) const;
    // Of one that was created unseen, the id is private.
    Communicator describe(const void* handle, int rank, int ranks, int gpu);

  private:
    struct Entry {
        Communicator communicator;
        bool described = false;
        uint32_t splits = 0;
    };
    Entry& entry(const void* handle);

    mutable std::mutex mutex_;
    std::unordered_map<const void*, Entry> entries_;
};

// What one thread has begun and not ended: a group, from the outermost ncclGroupStart to its end, or a call alone, which is a group of its
// own. NCCL launches a group's kernels while it executes: in its end, or in the call.
class CollectiveGroup {
  public:
    CollectiveGroup();

    struct Creation {
        const void* const* handle;  // NCCL writes it before the group ends
        uint64_t id;
    };
    struct Outcome {
        std::vector<Collective> calls;
        std::vector<Creation> creations;
    };

    void started() { ++depth_; }          // by an ncclGroupStart
    bool open() const { return depth_; }  // what is called now waits for the end
    bool outermost() const { return depth_ == 1; }
    void ended() { --depth_; }  // by an ncclGroupEnd

    // A call that is not open, or the end of the outermost group, begins to execute.
    void execute() { executing_ = true; }
    uint32_t executing_on(int gpu) const;

    void begin(Collective call);
    // The call that was begun last has returned. One that failed is forgotten.
    void end(bool succeeded, uint64_t time);
    void create(Creation creation) { outcome_.creations.push_back(creation); }

    Outcome take() { return std::move(outcome_); }

  private:
    const uint32_t id_;
    uint32_t depth_ = 0;
    bool executing_ = false;
    Outcome outcome_;
};

}  // namespace snoopie
