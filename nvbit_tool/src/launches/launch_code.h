// Which code the launches of a kernel run: its own, or the instrumented one with all calls or with some.
//
// NVBit keeps its own and the instrumented one at one place and writes one over the other, in the legacy default stream of the context,
// while launches in other streams may be under way. So
//   - instrumented code goes only after the measured launches that need it: the default stream waits for them;
//   - a measured launch must come behind the write. In the default stream it does, and in every stream that waits for that one. Before one
//     in a non-blocking stream the host waits for the write, but only so long: what the default stream has to do first may wait for this
//     launch. Launches under way in such streams may wait for the host: code is written once they have ended, or not at all;
//   - calls are taken out of code that NVBit has just written, so to change which ones are in it, it is written anew.
// NVBit gives a launch its value with the same call, which goes through all functions that the kernel could call. Where that takes long,
// the kernel gets the value of a cell once, and each launch's own is written to the cell in the launch's stream, where launches run one
// after the other.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "launches/context.h"
#include "launches/stream_cells.h"

namespace snoopie {

// Of one context, which is current in all calls.
class LaunchCode {
  public:
    explicit LaunchCode(Context* context) : context_(context), cells_(context) {}

    // Before a launch of an instrumented function, whose lock is held. With a value it is measured and runs instrumented code; without one
    // it runs its own code, or the instrumented code uncounted where the switch would cost other launches their counts. False if it cannot
    // be measured, because instrumented code would not be in place in time. `new_code`: probes were put in since the last launch. `live`:
    // the calls that its code is to have, null = all.
    bool choose(ContextFunction& function, const LaunchCall& call, std::optional<uint64_t> value, bool new_code, const CallSet* live);
    // The function gets into a graph, with instrumented code: so NVBit gives the node the registers and the stack that this takes.
    void keep(ContextFunction& function, const LaunchCall& call, bool new_code);
    // Calls can be taken out of code from now on.
    void give_words(std::unique_ptr<CodeWords> words) { words_ = std::move(words); }
    // At the entry of the call that ends a stream.
    void stream_ending(CUstream stream) { cells_.ending(stream); }
    void give_back_cells() { cells_.give_back_ended(); }
    // Cells of kernels that have begun once this event, of this context, has come about.
    void give_back_cells(CUevent behind, std::vector<uint64_t> cells) { cells_.ended(behind, std::move(cells)); }
    // Whether a launch of the function in this stream comes behind what was written of its code.
    bool in_place(const ContextFunction& function, CUstream stream);

  private:
    // What NVBit is to give a launch in this stream for this value: that of a cell, to which the value is written, or the value itself.
    uint64_t by_cell(const ContextFunction& function, CUstream stream, uint64_t value);
    // `always`: also where NVBit has been told the same before.
    void set(ContextFunction& function, const LaunchCall& call, bool instrumented, uint64_t value, bool new_code, bool always = false);

    // Whether the default stream can write the function's code within this time, and a launch in this stream come behind it.
    bool can_write(const ContextFunction& function, CUstream stream, std::chrono::milliseconds patience);
    // written_ comes about once the default stream has done what it has now. Callers lock.
    bool record_written();
    // Puts the function's own code in place, for instrumented code that has other calls.
    bool begin_anew(ContextFunction& function, const LaunchCall& call);
    void keep_words(ContextFunction& function, const LaunchCall& call);

    static constexpr auto kPatience = std::chrono::seconds(5);
    // For code that has more calls than a launch needs: the first time, and once that was in vain.
    static constexpr auto kPatienceForLess = std::chrono::milliseconds(100);
    static constexpr auto kLeastPatience = std::chrono::milliseconds(1);
    static constexpr auto kPatienceForGraphs = std::chrono::milliseconds(100);

    Context* const context_;
    StreamCells cells_;
    std::unique_ptr<CodeWords> words_;  // null: code has all calls or none
    std::mutex mutex_;
    CUevent written_ = nullptr;
    // Writes have numbers from 1: the last one, the last one known to be done, and the last ones of code that several kernels call.
    uint64_t writes_ = 0;
    uint64_t done_ = 0;
    uint64_t shared_on_ = 0;
    uint64_t shared_off_ = 0;
};

}  // namespace snoopie
