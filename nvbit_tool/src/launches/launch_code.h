// Which code the launches of a kernel run: its own, or the instrumented one with all calls or with some.
//
// NVBit keeps its own and the instrumented one at one place and writes one over the other, in the legacy default stream of the context,
// while launches in other streams may be under way. So
//   - instrumented code goes only after the measured launches that need it: the default stream waits for them;
//   - a measured launch must come behind the write. In the default stream it does, and in every stream that waits for that one. Before one
//     in a non-blocking stream the host waits for the write, but only so long: what the default stream has to do first may wait for this
//     launch;
//   - calls are taken out of code that NVBit has just written, so to change which ones are in it, it is written anew.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "launches/context.h"

namespace snoopie {

// Of one context, which is current in all calls.
class LaunchCode {
  public:
    explicit LaunchCode(Context* context) : context_(context) {}

    // Before a launch of an instrumented function, whose lock is held. With a value it is measured and runs instrumented code; without one
    // it runs its own code, or the instrumented code uncounted where the switch would cost other launches their counts. False if it cannot
    // be measured, because instrumented code would not be in place in time. `new_code`: probes were put in since the last launch. `live`:
    // the calls that its code is to have, null = all.
    bool choose(ContextFunction& function, const LaunchCall& call, std::optional<uint64_t> value, bool new_code, const CallSet* live);
    // The function is part of a graph from now on, with instrumented code.
    void keep(ContextFunction& function, const LaunchCall& call, bool new_code);
    // Calls can be taken out of code from now on.
    void give_words(std::unique_ptr<CodeWords> words) { words_ = std::move(words); }
    // Whether a launch in this stream comes behind all that was written so far.
    bool in_place(CUstream stream);

  private:
    void set(ContextFunction& function, const LaunchCall& call, bool instrumented, uint64_t value, bool new_code);

    // Puts the function's own code in place, for instrumented code that has other calls.
    bool begin_anew(ContextFunction& function, const LaunchCall& call);
    void keep_words(ContextFunction& function, const LaunchCall& call);

    static constexpr auto kPatience = std::chrono::seconds(5);

    Context* const context_;
    std::unique_ptr<CodeWords> words_;  // null: code has all calls or none
    std::mutex mutex_;
    CUevent written_ = nullptr;
    bool pending_ = false;
    uint64_t shared_writes_ = 0;  // of functions that other kernels can call too
};

}  // namespace snoopie
