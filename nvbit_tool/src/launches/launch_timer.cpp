#include "launches/launch_timer.h"

#include "base/clock.h"
#include "base/thread_id.h"

namespace snoopie {

std::optional<LaunchTimer::Timing> LaunchTimer::begin(CUstream stream) {
    {
        std::unique_lock lock(mutex_);
        if (taken_ == kMost) return std::nullopt;
        ++taken_;
    }
    const OwnCalls own;
    Timing timing;
    timing.start = events_.take();
    timing.end = events_.take();
    timing.called = now_ns();
    if (timing.start && timing.end && succeeded(cuEventRecord(timing.start, stream))) return timing;
    give_back(timing);
    return std::nullopt;
}

void LaunchTimer::end(Timing timing, CUstream stream) {
    const OwnCalls own;
    if (!succeeded(cuEventRecord(timing.end, stream))) return give_back(timing);
    std::unique_lock lock(mutex_);
    under_way_[{stream, stream == CU_STREAM_PER_THREAD ? thread_id() : 0}].push_back(timing);
}

void LaunchTimer::give_back(const Timing& timing) {
    for (const CUevent event : {timing.start, timing.end}) events_.give_back(event);
    std::unique_lock lock(mutex_);
    --taken_;
}

std::vector<LaunchTimer::Timing> LaunchTimer::landed(size_t limit) {
    std::unique_lock lock(mutex_);
    std::vector<Timing> ended;
    for (auto stream = under_way_.begin(); stream != under_way_.end();) {
        std::deque<Timing>& queue = stream->second;
        // After an error of the context every query fails: then all of them have ended.
        while (!queue.empty() && ended.size() < limit && cuEventQuery(queue.front().end) != CUDA_ERROR_NOT_READY) {
            ended.push_back(queue.front());
            queue.pop_front();
        }
        stream = queue.empty() ? under_way_.erase(stream) : std::next(stream);
    }
    return ended;
}

bool LaunchTimer::busy() const {
    std::unique_lock lock(mutex_);
    return !under_way_.empty();
}

}  // namespace snoopie
