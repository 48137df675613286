// Which call launched a kernel: its thread and its time, and whether it is to be recorded. CUPTI tells calls and kernels apart, with a
// number that both have, and in any order.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

namespace snoopie {

struct LaunchTime {
    uint32_t thread = 0;
    bool outside = false;  // of what is to be recorded
    uint64_t time = 0;     // ns
};

// Remembers the last calls: a graph has one call and many kernels, so none is ever known to be over.
class LaunchTimes {
  public:
    static constexpr size_t kMost = 1 << 18;

    void called(uint32_t correlation, LaunchTime when) {
        if (!calls_.try_emplace(correlation, when).second) return;
        order_.push_back(correlation);
        if (order_.size() <= kMost) return;
        calls_.erase(order_.front());
        order_.pop_front();
    }

    std::optional<LaunchTime> find(uint32_t correlation) const {
        const auto found = calls_.find(correlation);
        return found == calls_.end() ? std::nullopt : std::optional(found->second);
    }

  private:
    std::unordered_map<uint32_t, LaunchTime> calls_;
    std::deque<uint32_t> order_;
};

}  // namespace snoopie
