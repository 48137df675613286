#include "phases/window.h"

namespace snoopie {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

}  // namespace

Window::Window(const Options& options, uint64_t begin, const Wanted* wanted, Ranges* ranges)
    : profiler_(options.capture_range == kProfilerApi),
      range_(!profiler_ && !options.capture_range.empty()),
      first_(options.delay ? begin + options.delay * kSecond : 0),
      after_(options.duration ? begin + (uint64_t{options.delay} + options.duration) * kSecond : 0),
      skip_(options.launch_skip),
      count_(options.launch_count),
      wanted_(wanted),
      ranges_(ranges) {
    if (range_) ranges_->watch(options.capture_range);
}

bool Window::wanted() const {
    if (profiler_) return wanted_->once_started();
    return wanted_->unless_stopped() && (!range_ || ranges_->watched_open());
}

bool Window::open() const {
    if (!wanted()) return false;
    if (first_ == 0 && after_ == 0) return true;
    const uint64_t now = now_ns();
    return now >= first_ && (after_ == 0 || now < after_);
}

bool Window::takes_launch() {
    bool inside = open();
    if (inside && (skip_ || count_)) {
        const uint64_t number = launches_++;
        inside = number >= skip_ && (count_ == 0 || number - skip_ < count_);
    }
    if (!inside) ++launches_outside;
    return inside;
}

}  // namespace snoopie
