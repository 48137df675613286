#include "launches/slots.h"

namespace snoopie {

uint8_t SlotTable::slot(uint8_t owner, uint32_t object) {
    if (object == 0) return owners_.slot(owner);
    std::unique_lock lock(mutex_);
    Entry* place = nullptr;
    for (Entry& entry : entries_) {
        if (entry.taken && entry.target.object == object && entry.target.owner == owner) {
            place = &entry;
            break;
        }
        if (!place && is_free(entry)) place = &entry;  // the lowest: fewer slots in a launch's counters
    }
    if (!place) return owners_.slot(owner);
    const auto number = static_cast<uint32_t>(place - entries_.data());
    if (!place->taken) {
        *place = {{owner, object}, true, ++now_, 0};
        object_owners_[number] = owner;
    }
    return static_cast<uint8_t>(owners_.count() + number);
}

void SlotTable::retire(uint32_t object) {
    std::unique_lock lock(mutex_);
    for (Entry& entry : entries_) {
        if (!entry.taken || entry.target.object != object) continue;
        entry.taken = false;
        entry.until = ++now_;
    }
}

bool SlotTable::is_free(const Entry& entry) const { return !entry.taken && (aboard_.empty() || aboard_.begin()->first >= entry.until); }

SlotTable::Boarding SlotTable::board(uint32_t sites, uint64_t affordable) {
    std::unique_lock lock(mutex_);
    const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& entry) { return entry.taken; });
    const auto objects = static_cast<uint64_t>(entries_.rend() - last);
    const uint64_t slots = affordable / std::max(sites, 1u);
    const uint64_t most = slots > owners_.count() ? (slots - owners_.count()) / kSlotStep : 0;
    const uint64_t steps = std::min((objects + kSlotStep - 1) / kSlotStep, most);
    ++aboard_[now_];
    return {owners_.count() + static_cast<uint32_t>(steps) * kSlotStep, now_};
}

void SlotTable::land(uint64_t moment) {
    std::unique_lock lock(mutex_);
    const auto found = aboard_.find(moment);
    if (found != aboard_.end() && --found->second == 0) aboard_.erase(found);
}

std::vector<SlotTable::Target> SlotTable::targets(const Boarding& launch) const {
    std::vector<Target> targets;
    const uint32_t owners = owners_.count();
    for (uint32_t slot = 0; slot < owners; ++slot) targets.push_back({owners_.owner(slot), 0});
    std::unique_lock lock(mutex_);
    targets.resize(launch.slots);
    for (uint32_t place = 0; place < entries_.size() && owners + place < launch.slots; ++place) {
        const Entry& entry = entries_[place];
        targets[owners + place] = {entry.target.owner, launch.moment >= entry.since ? entry.target.object : 0};
    }
    return targets;
}

void fold_untold(const std::vector<SlotTable::Target>& targets, const OwnerSlots& owners, uint64_t* counters) {
    for (uint32_t slot = owners.count(); slot < targets.size(); ++slot) {
        if (targets[slot].object != 0) continue;
        for (uint32_t i = 0; i < kCounters; ++i) {
            counters[owners.slot(targets[slot].owner) * kCounters + i] += counters[slot * kCounters + i];
            counters[slot * kCounters + i] = 0;
        }
    }
}

}  // namespace snoopie
