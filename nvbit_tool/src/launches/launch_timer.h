// Times of launches that are not measured, by an event before and one after each: with TIMES=all.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "launches/event_pool.h"
#include "trace/schema.h"

namespace snoopie {

// Of one context. Safe to call from any thread.
class LaunchTimer {
  public:
    // So many launches are under way at most; of further ones the time is not known.
    static constexpr size_t kMost = 1 << 16;

    struct Timing {
        uint32_t launch = 0;  // its row among the launches; 0: it has none, and gets this one
        UnmeasuredRow row{};
        CUevent start = nullptr;
        CUevent end = nullptr;
        uint64_t called = 0;  // host ns, when `start` was recorded
    };

    explicit LaunchTimer(CUcontext handle) : events_(handle) {}

    // The launch follows in `stream`, which is not capturing; none if it cannot be timed.
    std::optional<Timing> begin(CUstream stream);
    // It is in `stream`.
    void end(Timing timing, CUstream stream);
    // It did not happen, or was told.
    void give_back(const Timing& timing);

    // For the draining thread, context current: launches that have ended, at most `limit`.
    std::vector<Timing> landed(size_t limit);
    bool busy() const;

  private:
    EventPool events_;
    mutable std::mutex mutex_;
    // A stream's launches end in order. The per-thread default streams have one handle: they are told by the thread.
    std::map<std::pair<CUstream, uint32_t>, std::deque<Timing>> under_way_;
    size_t taken_ = 0;
};

}  // namespace snoopie
