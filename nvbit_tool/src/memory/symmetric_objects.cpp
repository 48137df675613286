#include "memory/symmetric_objects.h"

#include "base/attempt.h"

namespace snoopie {

void SymmetricObjects::symmetric_allocated(const SymmetricMemory& memory) noexcept {
    if (!recording_()) return;
    attempt([&] {
        const Maker by = maker_of_(memory.call);
        std::vector<uint32_t> objects = {part(memory.own, memory.bytes, by)};
        for (const uint64_t other : memory.others) objects.push_back(part(other, memory.bytes, by));
        std::unique_lock lock(mutex_);
        objects_[memory.own] = std::move(objects);
    });
}

void SymmetricObjects::symmetric_freed(uint64_t own) noexcept {
    if (!recording_()) return;
    attempt([&] {
        std::unique_lock lock(mutex_);
        const auto found = objects_.find(own);
        if (found == objects_.end()) return;
        for (const uint32_t object : found->second) memory_->ended(object);
        objects_.erase(found);
    });
}

uint32_t SymmetricObjects::part(uint64_t address, uint64_t bytes, const Maker& by) {
    Object object;
    object.address = address;
    object.bytes = bytes;
    object.owner = kOwnerUnknown;
    object.kind = ObjectKind::symmetric;
    // A part that lies across several pieces of the heap is said to be inside the first.
    for (const Object& piece : memory_->map().objects_in(address, 1)) {
        object.owner = piece.owner;
        object.inside = piece.id;
    }
    return memory_->listed(object, by);
}

}  // namespace snoopie
