// Hands out pieces of a device's counter memory: first fit, neighbours joined when freed. Sizes and places are in cells.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace snoopie {

class CounterArena {
  public:
    explicit CounterArena(uint64_t size) : size_(size), room_(size) { free_[0] = size; }

    uint64_t size() const { return size_; }
    // What is free, in however many pieces.
    uint64_t room() const { return room_; }

    std::optional<uint64_t> allocate(uint64_t size) {
        for (auto block = free_.begin(); block != free_.end(); ++block) {
            const auto [place, available] = *block;
            if (available < size) continue;
            free_.erase(block);
            if (available > size) free_[place + size] = available - size;
            room_ -= size;
            return place;
        }
        return std::nullopt;
    }

    void release(uint64_t place, uint64_t size) {
        room_ += size;
        auto after = free_.lower_bound(place);
        if (after != free_.end() && place + size == after->first) {
            size += after->second;
            after = free_.erase(after);
        }
        if (after != free_.begin()) {
            const auto before = std::prev(after);
            if (before->first + before->second == place) {
                before->second += size;
                return;
            }
        }
        free_[place] = size;
    }

  private:
    std::map<uint64_t, uint64_t> free_;  // place → size
    const uint64_t size_;
    uint64_t room_;
};

}  // namespace snoopie
