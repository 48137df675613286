// CUPTI's records as rows of a trace.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "times/cupti.h"
#include "times/launch_times.h"
#include "trace/trace_writer.h"

namespace snoopie {

// For one thread.
class Activities {
  public:
    // `gpus`: so many are visible to the process; CUPTI numbers them as the trace does.
    Activities(TraceWriter* writer, size_t gpus) : writer_(writer), gpus_(gpus) {}

    void add(const cupti::Record& record);
    // A call that launches, before the record of what it launched.
    void called(uint32_t correlation, LaunchTime when) { calls_.called(correlation, when); }
    // A buffer was read to its end. Kernels whose calls have not come in two of them are written without.
    void end_of_buffer();
    // The same, for all that still wait.
    void finish();

    uint64_t launches() const { return launches_; }
    uint64_t outside() const { return outside_; }  // launches that were not to be recorded
    uint64_t copies() const { return copies_; }
    uint64_t copied() const { return copied_; }

    // What has no row, as it crosses no link.
    struct Within {
        uint64_t number = 0;
        uint64_t bytes = 0;
    };
    const Within& copies_within() const { return copies_within_; }
    const Within& memsets() const { return memsets_; }
    uint64_t homeless() const { return homeless_; }  // of a GPU that the process does not see

  private:
    struct Waiting {
        cupti::Kernel kernel;
        uint64_t buffer;
    };

    void kernel(const cupti::Kernel& kernel);
    void write(const cupti::Kernel& kernel, LaunchTime called);
    void copy(const cupti::Memcpy& copy);
    void copy(const cupti::MemcpyPeer& copy);
    void write(CopyRow row, const char* call);
    uint32_t function(const char* name);
    bool seen(uint32_t device);
    void settle(uint64_t before);

    TraceWriter* const writer_;
    const size_t gpus_;
    LaunchTimes calls_;
    std::deque<Waiting> waiting_;
    std::unordered_map<std::string, uint32_t> functions_;  // by mangled name
    uint64_t buffer_ = 0;
    uint32_t launches_ = 0;
    uint64_t outside_ = 0;
    uint32_t copies_ = 0;
    uint64_t copied_ = 0;
    Within copies_within_;
    Within memsets_;
    uint64_t homeless_ = 0;
};

}  // namespace snoopie
