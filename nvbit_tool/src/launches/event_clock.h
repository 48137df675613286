// The host time of a GPU's events, of which the driver only tells how many milliseconds lie between two, as a float.
//
// Times are counted from a base, an event whose host time is known: a float has steps of 61 ns a second after it, of 0.5 µs after 5 s. So
// the base is renewed: a new event is observed, recorded after one host time and seen to have happened before another. By the old base it
// happened at some time; where that is not between the two, the GPU's clock and the host's have drifted apart (or the host's was set), and
// the nearer of the two is right. Where it is, nothing changes: times of neighbours do not jump.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace snoopie {

// Of a launch, in host ns.
struct Span {
    uint64_t start = 0;
    uint64_t end = 0;
};

class EventClock {
  public:
    // The base is an event that was observed between these host times.
    EventClock(uint64_t before, uint64_t after) : base_(before + (after - std::min(before, after)) / 2) {}

    // A launch that ended so long after the base, negative if before it, and took so long. It cannot have begun before it was called at
    // `called`: that, too, corrects the clock.
    Span span(float milliseconds, float length, uint64_t called) {
        const auto took = static_cast<uint64_t>(std::max<int64_t>(nanoseconds(length), 0));
        const uint64_t end = base_ + static_cast<uint64_t>(nanoseconds(milliseconds));
        const uint64_t late = called + took > end ? called + took - end : 0;
        base_ += late;
        return {end + late - took, end + late};
    }

    bool is_old(uint64_t now) const { return now < base_ || now - base_ > kRenewal; }
    // An event so long after the base, observed between these host times, is the base from now on.
    void renew(float milliseconds, uint64_t before, uint64_t after) {
        base_ = std::clamp(base_ + static_cast<uint64_t>(nanoseconds(milliseconds)), before, std::max(before, after));
    }

  private:
    static constexpr uint64_t kRenewal = 1'000'000'000;

    static int64_t nanoseconds(float milliseconds) { return std::llround(static_cast<double>(milliseconds) * 1e6); }

    uint64_t base_;
};

}  // namespace snoopie
