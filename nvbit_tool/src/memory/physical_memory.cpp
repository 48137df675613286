#include "memory/physical_memory.h"

namespace snoopie {

void PhysicalMemory::created(uint64_t handle, uint32_t allocation) {
    std::unique_lock lock(mutex_);
    ++allocations_[allocation].handles;
    handles_[handle] = {allocation, 1};
}

void PhysicalMemory::retained(uint64_t handle, uint32_t mapping) {
    std::unique_lock lock(mutex_);
    const auto found = mappings_.find(mapping);
    if (found == mappings_.end()) return;
    ++allocations_[found->second].handles;
    add_use(handle, found->second);
}

uint32_t PhysicalMemory::mapping(uint64_t handle) {
    std::unique_lock lock(mutex_);
    const auto found = handles_.find(handle);
    if (found == handles_.end()) return 0;
    ++allocations_[found->second.allocation].mappings;
    return found->second.allocation;
}

void PhysicalMemory::mapped(uint32_t allocation, uint32_t mapping) {
    if (allocation == 0) return;
    std::unique_lock lock(mutex_);
    mappings_[mapping] = allocation;
}

PhysicalMemory::Release PhysicalMemory::releasing(uint64_t handle) {
    std::unique_lock lock(mutex_);
    const auto found = handles_.find(handle);
    if (found == handles_.end()) return {handle, 0};
    const uint32_t allocation = found->second.allocation;
    if (--found->second.uses == 0) handles_.erase(found);
    return {handle, allocation};
}

uint32_t PhysicalMemory::released(const Release& release, bool succeeded) {
    if (release.allocation == 0) return 0;
    std::unique_lock lock(mutex_);
    if (!succeeded) {
        add_use(release.handle, release.allocation);
        return 0;
    }
    --allocations_[release.allocation].handles;
    return end_if_unused(release.allocation);
}

uint32_t PhysicalMemory::unmapped(uint32_t mapping) {
    std::unique_lock lock(mutex_);
    const auto found = mappings_.find(mapping);
    if (found == mappings_.end()) return 0;
    const uint32_t allocation = found->second;
    mappings_.erase(found);
    --allocations_[allocation].mappings;
    return end_if_unused(allocation);
}

void PhysicalMemory::add_use(uint64_t handle, uint32_t allocation) {
    Handle& known = handles_[handle];
    if (known.allocation != allocation) known = {allocation, 0};
    ++known.uses;
}

uint32_t PhysicalMemory::end_if_unused(uint32_t allocation) {
    const auto found = allocations_.find(allocation);
    if (found->second.handles > 0 || found->second.mappings > 0) return 0;
    allocations_.erase(found);
    return allocation;
}

}  // namespace snoopie
