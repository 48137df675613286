// What the slots of one GPU's counters and page bytes stand for: an owner, or one object of an owner.
//
// The owners' slots come first. Each of the others is taken by an object when the GPU is told its pages, and given back when no page names
// it any more. Launches that were boarded before then may still count in it, so no object takes it again before all of these have landed;
// then a launch's counters can be read by the table as it is, however many objects have come and gone since it was boarded.
//
// An object tells its traffic from that of others only in launches that are boarded after it has come: memory that is freed in stream order
// is given to the next object while kernels that use the one before have not begun yet.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "probe/probe_abi.h"
#include "trace/owners.h"

namespace snoopie {

class SlotTable {
  public:
    static constexpr uint32_t kMostObjects = kSlotStep * kMostSlotSteps;
    // `objects`: so many have a slot of their own at a time, at most kMostObjects.
    SlotTable(OwnerSlots owners, uint32_t objects) : owners_(owners), entries_(std::min(objects, kMostObjects)) {}

    const OwnerSlots& owners() const { return owners_; }

    // The slot for pages of this object; 0 = pages that several share. The owner's if none is left.
    uint8_t slot(uint8_t owner, uint32_t object);
    // No page names the object any more.
    void retire(uint32_t object);

    // A launch begins: how many slots its counters have, and the moment, by which `targets` knows it.
    struct Boarding {
        uint32_t slots = 0;
        uint64_t moment = 0;
    };
    // `affordable`: cells that it may have, unless for its owners alone.
    Boarding board(uint32_t sites, uint64_t affordable);
    // Its counts are collected, or it did not happen.
    void land(uint64_t moment);

    // What a slot stands for; object 0 = not told from others of this owner.
    struct Target {
        uint8_t owner = kOwnerUnknown;
        uint32_t object = 0;
    };
    std::vector<Target> targets(const Boarding& launch) const;
    uint8_t owner(uint32_t slot) const {
        const uint32_t owners = owners_.count();
        return slot < owners || slot - owners >= entries_.size() ? owners_.owner(slot) : object_owners_[slot - owners].load();
    }

  private:
    struct Entry {
        Target target;
        bool taken = false;
        uint64_t since = 0;
        uint64_t until = 0;  // when it was given back
    };

    bool is_free(const Entry& entry) const;

    const OwnerSlots owners_;
    mutable std::mutex mutex_;
    std::vector<Entry> entries_;                                      // of the slots that objects take
    std::array<std::atomic<uint8_t>, kMostObjects> object_owners_{};  // the same of all entries: asked for every record
    uint64_t now_ = 0;                                                // rises with every change of an object's slot
    std::map<uint64_t, uint64_t> aboard_;                             // moment → launches boarded then that have not landed
};

// Adds what a site's counters have in slots of no object of their own to those of the owners. `counters`: of the launch's slots.
void fold_untold(const std::vector<SlotTable::Target>& targets, const OwnerSlots& owners, uint64_t* counters);

}  // namespace snoopie
