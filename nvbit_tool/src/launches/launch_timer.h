// Times of launches that are not measured, by an event before and one after each: with TIMES=all.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "launches/event_pool.h"
#include "trace/schema.h"

namespace snoopie {

// Of one context. What is not for the draining thread is safe to call from any.
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
    // It did not happen.
    void cancel(const Timing& timing) { give_back({timing}); }

    // For the draining thread, context current:
    // Launches that have ended, at most `limit`, as is told of the first in each stream.
    std::vector<Timing> landed(size_t limit, const std::function<bool(const Timing&)>& has_ended);
    // They were told.
    void give_back(const std::vector<Timing>& landed);
    bool busy() const;

  private:
    EventPool events_;
    std::atomic<size_t> taken_{0};
    // A stream, and the thread: the per-thread default streams have one handle.
    using Stream = std::pair<CUstream, uint32_t>;
    mutable std::mutex mutex_;
    std::vector<std::pair<Stream, Timing>> departed_;  // since the draining thread looked last
    // The draining thread's own: those who launch do not wait for what it asks the driver.
    std::map<Stream, std::deque<Timing>> under_way_;
};

}  // namespace snoopie
