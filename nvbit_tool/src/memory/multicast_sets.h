// Multicast objects: an address in one of them is memory of several GPUs at once, and its owner is the set.
//
// Not verified on a GPU: built from the driver's documented calls.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "trace/owners.h"

namespace snoopie {

class MulticastSets {
  public:
    // A handle made by cuMulticastCreate, or one that turned out to be a multicast object: its owner value, the one it already has if it
    // is known. None when there are too many.
    std::optional<uint8_t> add(uint64_t handle, bool* is_new) {
        std::unique_lock lock(mutex_);
        const auto [slot, inserted] = owners_.try_emplace(handle, static_cast<uint8_t>(kFirstSet + made_));
        *is_new = inserted;
        if (!inserted) return slot->second;
        if (made_ == kMaxSets) {
            owners_.erase(slot);
            return std::nullopt;
        }
        ++made_;
        return slot->second;
    }

    std::optional<uint8_t> owner(uint64_t handle) const {
        std::unique_lock lock(mutex_);
        const auto found = owners_.find(handle);
        if (found == owners_.end()) return std::nullopt;
        return found->second;
    }

    // The handle is released: the driver may give its value to another. What it named may still be mapped, so the owner value is not used
    // again.
    void release(uint64_t handle) {
        std::unique_lock lock(mutex_);
        owners_.erase(handle);
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_map<uint64_t, uint8_t> owners_;
    int made_ = 0;
};

}  // namespace snoopie
