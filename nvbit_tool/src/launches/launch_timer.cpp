#include "launches/launch_timer.h"

#include "base/clock.h"
#include "base/thread_id.h"

namespace snoopie {

std::optional<LaunchTimer::Timing> LaunchTimer::begin(CUstream stream) {
    if (taken_.fetch_add(1) >= kMost) {
        --taken_;
        return std::nullopt;
    }
    const OwnHarmlessCalls own;
    Timing timing;
    const auto [start, end] = events_.take_two();
    timing.start = start;
    timing.end = end;
    timing.called = now_ns();
    if (timing.start && timing.end && succeeded(cuEventRecord(timing.start, stream))) return timing;
    cancel(timing);
    return std::nullopt;
}

void LaunchTimer::end(Timing timing, CUstream stream) {
    const OwnHarmlessCalls own;
    if (!succeeded(cuEventRecord(timing.end, stream))) return cancel(timing);
    std::unique_lock lock(mutex_);
    departed_.push_back({{stream, stream == CU_STREAM_PER_THREAD ? thread_id() : 0}, timing});
}

void LaunchTimer::give_back(const std::vector<Timing>& landed) {
    std::vector<CUevent> events;
    for (const Timing& timing : landed)
        for (const CUevent event : {timing.start, timing.end})
            if (event) events.push_back(event);
    events_.give_back(events);
    taken_ -= landed.size();
}

std::vector<LaunchTimer::Timing> LaunchTimer::landed(size_t limit, const std::function<bool(const Timing&)>& has_ended) {
    std::vector<std::pair<Stream, Timing>> departed;
    {
        std::unique_lock lock(mutex_);
        departed.swap(departed_);
    }
    for (const auto& [stream, timing] : departed) under_way_[stream].push_back(timing);
    std::vector<Timing> landed;
    for (auto stream = under_way_.begin(); stream != under_way_.end();) {
        std::deque<Timing>& queue = stream->second;
        while (!queue.empty() && landed.size() < limit && has_ended(queue.front())) {
            landed.push_back(queue.front());
            queue.pop_front();
        }
        stream = queue.empty() ? under_way_.erase(stream) : std::next(stream);
    }
    return landed;
}

bool LaunchTimer::busy() const {
    std::unique_lock lock(mutex_);
    return !departed_.empty() || !under_way_.empty();
}

}  // namespace snoopie
