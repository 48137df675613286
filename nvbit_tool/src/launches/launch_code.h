// Which code the launches of a kernel run, its own or the instrumented one.
//
// NVBit keeps both at one place and writes one over the other, in the legacy default stream of the context, while launches in other streams
// may be under way. So
//   - instrumented code goes only after the measured launches that need it: the default stream waits for them;
//   - a measured launch must come behind the write. In the default stream it does, and in every stream that waits for that one. Before one
//   in
//     a non-blocking stream the host waits for the write, but only so long: what the default stream has to do first may wait for this
//     launch.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "launches/context.h"

namespace snoopie {

// Of one context, which is current in all calls.
class LaunchCode {
  public:
    explicit LaunchCode(Context* context) : context_(context) {}

    // Before a launch of an instrumented function, whose lock is held. With a value it is measured and runs instrumented code; without one
    // it runs its own code, or the instrumented code uncounted where the switch would cost other launches their counts. False if it cannot
    // be measured, because instrumented code would not be in place in time. `new_code`: probes were put in since the last launch.
    bool choose(ContextFunction& function, const LaunchCall& call, std::optional<uint64_t> value, bool new_code);
    // The function is part of a graph from now on, with instrumented code.
    void keep(ContextFunction& function, const LaunchCall& call, bool new_code);
    // Whether a launch in this stream comes behind all that was written so far.
    bool in_place(CUstream stream);

  private:
    void set(ContextFunction& function, const LaunchCall& call, bool instrumented, uint64_t value, bool new_code);

    static constexpr auto kPatience = std::chrono::seconds(5);

    Context* const context_;
    std::mutex mutex_;
    CUevent written_ = nullptr;
    bool pending_ = false;
    uint64_t shared_writes_ = 0;  // of functions that other kernels can call too
};

}  // namespace snoopie
