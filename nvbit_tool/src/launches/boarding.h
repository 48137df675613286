// A launch that is to be measured gets what it takes: probes in its kernel, counters, a row of the trace.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/recording.h"
#include "launches/context.h"
#include "launches/instrumenter.h"
#include "launches/launch_decision.h"
#include "launches/launch_tally.h"
#include "trace/notices.h"
#include "trace/trace_writer.h"

namespace snoopie {

// Safe to call from any thread; the caller holds the function's lock.
class Boarding {
  public:
    // `stack`: the calling thread's, 0 = unknown.
    Boarding(Instrumenter* instrumenter, TraceWriter* writer, Notices* notices, const Recording* recording, LaunchTally* tally,
             std::function<uint32_t()> stack)
        : instrumenter_(instrumenter), writer_(writer), notices_(notices), recording_(recording), tally_(tally), stack_(std::move(stack)) {}

    // Instruments if necessary. Whether probes were put in; afterwards the function has sites if its launches can be measured.
    bool prepare(Context& context, ContextFunction& function, const LaunchCall& call);
    // None if no counters are free.
    std::optional<Flight> board(Context& context, ContextFunction& function, const LaunchCall& call, const Decision& decision);
    // A launch that runs its own code because no access of it can leave the GPU.
    // Returns its id, 0 for none. `stack`: who launched it, if that is not the calling thread.
    uint32_t without_probes(const Context& context, ContextFunction& function, const LaunchCall& call,
                            std::optional<uint32_t> stack = std::nullopt);
    // The flight was boarded but is none: its code is not in place in time, or for this reason, the rest of a sentence about the kernel.
    void lose_late(Context& context, std::optional<Flight>* flight);
    void lose(Context& context, std::optional<Flight>* flight, const char* why);
    // The launch's row in the trace, before the launch: its records can reach the trace before its call returns, and must find it there.
    // `stack`: who launched it, if that is not the calling thread.
    void announce(const Context& context, const Flight& flight, const LaunchCall& call, std::optional<uint32_t> stack = std::nullopt);
    // What there is to say of a launch that is not measured, but for its time on the GPU.
    UnmeasuredRow unmeasured(const Context& context, const ContextFunction& function, const LaunchCall& call);

    // The launch that was announced last; no name: there was none.
    struct Last {
        std::string kernel;
        std::chrono::steady_clock::time_point time;
    };
    Last last() const;

  private:
    void write(const Context& context, uint32_t launch, const ContextFunction& function, const LaunchCall& call, Code code, uint32_t stack);

    Instrumenter* const instrumenter_;
    TraceWriter* const writer_;
    Notices* const notices_;
    const Recording* const recording_;
    LaunchTally* const tally_;
    const std::function<uint32_t()> stack_;
    std::atomic<uint32_t> last_launch_{0};
    mutable std::mutex last_mutex_;
    Last last_;
};

}  // namespace snoopie
