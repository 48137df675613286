// When the program is recorded: what the settings about it say, and the program itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "phases/ranges.h"
#include "phases/wanted.h"
#include "settings/settings.h"

namespace snoopie {

// Safe to call from any thread.
class Window {
  public:
    // `begin`: when the recording began, from which DELAY counts.
    Window(const Options& options, uint64_t begin, const Wanted* wanted, Ranges* ranges);

    // Whether what begins now is recorded.
    bool open() const;
    // Whether a launch that could be measured is: counts it among those that LAUNCH_SKIP and LAUNCH_COUNT number.
    bool takes_launch();

    // The process's number of launches, and of copies, that were outside.
    std::atomic<uint64_t> launches_outside{0};
    std::atomic<uint64_t> copies_outside{0};

  private:
    bool wanted() const;

    const bool profiler_;  // CAPTURE_RANGE=profiler-api
    const bool range_;     // CAPTURE_RANGE names one
    const uint64_t first_;
    const uint64_t after_;  // 0: no end
    const uint64_t skip_;
    const uint64_t count_;  // 0: all
    const Wanted* const wanted_;
    Ranges* const ranges_;
    std::atomic<uint64_t> launches_{0};
};

}  // namespace snoopie
