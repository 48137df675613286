// What NCCL says of its calls by NVTX: a range for each, whose payload has the communicator, the size of a message, and the peer. It tells
// of calls that no library stands before: of NCCL that the program has opened itself or is linked with, and in the clean recording of all.
// Of those that nccl_calls.cpp has passed on it says nothing new, and is left out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libraries/nccl_calls.h"

namespace snoopie {

constexpr std::string_view kNcclDomain = "NCCL";

// What a payload says; of the rest nothing is known.
struct NcclPayload {
    std::optional<uint64_t> communicator, bytes;
    std::optional<int> peer, rank, ranks, gpu, reduction;

    // What the other says besides.
    void add(const NcclPayload& other);
};

// Where in a payload that is. Entries are known by their names, which NCCL shows to people and has kept.
class NcclSchemas {
  public:
    static constexpr size_t kMost = 1024;

    struct Entry {
        const char* name = nullptr;
        uint64_t type = 0;  // NVTX_PAYLOAD_ENTRY_TYPE_…, or the id of an enumeration
        uint64_t offset = 0;
    };
    void add(uint64_t schema, const std::vector<Entry>& entries);
    NcclPayload read(uint64_t schema, const void* payload, size_t bytes) const;

  private:
    struct Field {
        int what;
        size_t offset;
        size_t bytes;
    };
    mutable std::mutex mutex_;
    std::unordered_map<uint64_t, std::vector<Field>> schemas_;
};

// Safe to call from any thread.
class NcclRanges {
  public:
    static constexpr size_t kMostCommunicators = 1 << 14;

    // The process's own, never destroyed.
    static NcclRanges& of_process();

    NcclSchemas& schemas() { return schemas_; }

    // A range of the thread in NCCL's domain; its payload comes with the one or the other.
    void begin(std::string_view name, const NcclPayload& payload);
    void end(const NcclPayload& payload);

    // Who receives the calls from now on; as in nccl_calls.h.
    void send_to(CollectiveSink* sink) { sink_ = sink; }
    uint32_t current_group(int gpu) const;

  private:
    struct Thread;

    Communicator communicator(const NcclPayload& payload) const;
    void join(const NcclPayload& payload);
    void close(bool carried_out);

    NcclSchemas schemas_;
    std::atomic<CollectiveSink*> sink_{nullptr};
    mutable std::mutex mutex_;
    std::unordered_map<uint64_t, std::vector<Communicator>> members_;  // ranks of this process

    static thread_local Thread* own_;  // only while a range or a group is open, so that nothing is left to destroy when the thread ends
};

// Whether the thread is in a call that nccl_calls.cpp has passed on to NCCL.
bool& in_passed_call();

}  // namespace snoopie
