// Events with timing, used again and again.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "driver/driver.h"

namespace snoopie {

// Of one context. Safe to call from any thread.
class EventPool {
  public:
    explicit EventPool(CUcontext handle) : handle_(handle) {}

    // Null if there can be none.
    CUevent take() { return some<1>()[0]; }
    std::array<CUevent, 2> take_two() { return some<2>(); }
    // Null is none.
    void give_back(CUevent event) {
        if (!event) return;
        std::unique_lock lock(mutex_);
        free_.push_back(event);
    }
    void give_back(const std::vector<CUevent>& events) {
        std::unique_lock lock(mutex_);
        free_.insert(free_.end(), events.begin(), events.end());
    }

  private:
    template <size_t kCount>
    std::array<CUevent, kCount> some() {
        std::array<CUevent, kCount> events{};
        size_t taken = 0;
        {
            std::unique_lock lock(mutex_);
            for (; taken < kCount && !free_.empty(); ++taken) {
                events[taken] = free_.back();
                free_.pop_back();
            }
        }
        if (taken == kCount) return events;
        const CurrentContext current(handle_);
        for (; taken < kCount; ++taken)
            if (!succeeded(cuEventCreate(&events[taken], CU_EVENT_DEFAULT))) events[taken] = nullptr;
        return events;
    }

    const CUcontext handle_;
    std::mutex mutex_;
    std::vector<CUevent> free_;
};

}  // namespace snoopie
