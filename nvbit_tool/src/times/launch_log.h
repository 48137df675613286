// Which thread made which launch, and when: noted in the call, on the thread itself, until the recorder takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/clock.h"
#include "base/thread_id.h"
#include "times/launch_times.h"

namespace snoopie {

// Safe to call from any thread.
class LaunchLog {
  public:
    static constexpr size_t kMost = 1 << 20;  // 24 MiB; launches that come while so many wait have no thread

    struct Note {
        uint32_t correlation;
        LaunchTime called;
    };

    void note(uint32_t correlation, bool outside) {
        // A system call for each launch would cost more than all the rest.
        static thread_local uint32_t own = 0;
        if (own == 0) own = thread_id();
        const LaunchTime called{own, outside, now_ns()};
        const std::unique_lock lock(mutex_);
        bool noted = false;
        if (notes_.size() < kMost) attempt([&] { notes_.push_back({correlation, called}), noted = true; });
        lost_ += !noted;
    }

    // All that were noted since, in their order.
    const std::vector<Note>& take() {
        taken_.clear();
        const std::unique_lock lock(mutex_);
        std::swap(notes_, taken_);
        return taken_;
    }

    uint64_t lost() {
        const std::unique_lock lock(mutex_);
        return lost_;
    }

  private:
    std::mutex mutex_;
    uint64_t lost_ = 0;
    std::vector<Note> notes_;
    std::vector<Note> taken_;  // keeps its memory for the next
};

}  // namespace snoopie
