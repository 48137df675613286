// Which code the launches of a kernel run: its own, or the instrumented one with all calls or with some.
//
// NVBit keeps its own and the instrumented one at one place and writes one over the other, in the legacy default stream of the context,
// while launches in other streams may be under way. So
//   - instrumented code goes only after the measured launches that need it. The default stream is behind those in blocking streams, but not
//     behind those in non-blocking ones, so for these the host waits. It waits for a while only: they may wait for what the program does
//     next. That may be in the default stream, or in a stream that waits for it: so the default stream must not wait for them, either;
//   - where code may stay as it is, as a launch is not measured or needs fewer calls, the host waits for those in blocking streams as well,
//     and else code stays: a write holds up all other blocking streams until they have ended;
//   - a measured launch must come behind the write. In the default stream it does, and in blocking ones. Before one in a non-blocking
//     stream the host waits for the write, but only so long: what the default stream has to do first may wait for this launch;
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

    // Whether the function's own code can take the place of the instrumented one.
    bool can_take_out(ContextFunction& function) const;
    // Whether within this time the default stream can write that code, with no launch that needs it in streams of that kind or the next,
    // and a launch in `stream` come behind it.
    bool can_write(const ContextFunction& function, CUstream stream, StreamKind first, std::chrono::milliseconds patience);
    // written_ comes about once the default stream has done what it has now. Callers lock.
    bool record_written();
    // Puts the function's own code in place, for instrumented code that has other calls.
    bool begin_anew(ContextFunction& function, const LaunchCall& call);
    void keep_words(ContextFunction& function, const LaunchCall& call);

    static constexpr auto kPatience = std::chrono::seconds(5);
    // Where code stays otherwise: for a kernel's own, which launches that are not measured run, for code with fewer calls, and for either
    // once it was in vain.
    static constexpr auto kPatienceForOwn = std::chrono::seconds(1);
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
