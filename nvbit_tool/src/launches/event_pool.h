// Events with timing, used again and again.
#pragma once

#include <mutex>
#include <vector>

#include "driver/driver.h"

namespace snoopie {

// Of one context. Safe to call from any thread.
class EventPool {
  public:
    explicit EventPool(CUcontext handle) : handle_(handle) {}

    // Null if there can be none.
    CUevent take() {
        {
            std::unique_lock lock(mutex_);
            if (!free_.empty()) {
                const CUevent event = free_.back();
                free_.pop_back();
                return event;
            }
        }
        const CurrentContext current(handle_);
        CUevent event = nullptr;
        return succeeded(cuEventCreate(&event, CU_EVENT_DEFAULT)) ? event : nullptr;
    }
    // Null is none.
    void give_back(CUevent event) {
        if (!event) return;
        std::unique_lock lock(mutex_);
        free_.push_back(event);
    }

  private:
    const CUcontext handle_;
    std::mutex mutex_;
    std::vector<CUevent> free_;
};

}  // namespace snoopie
