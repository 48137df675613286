#include "calls/copy_ends.h"

namespace snoopie {

uint8_t owner_of(const CopyEnd& end, const OwnerLookup& lookup, CUctx_st* current) {
    if (end.owner) return *end.owner;
    if (end.memory == MemoryType::array) return lookup.owner_of_array(end.array);
    const uint8_t mapped = lookup.owner_of(end.address);
    if (mapped != kOwnerHost || end.memory == MemoryType::host) return mapped;
    // Pinned or pageable host memory, a variable of a module, or an allocation that was not seen.
    if (const auto owner = lookup.owner_by_driver(end.address)) return *owner;
    if (end.memory == MemoryType::any) return kOwnerHost;
    return lookup.gpu_of(end.context ? end.context : current);
}

Direction direction_between(uint8_t source, uint8_t destination) {
    const auto is_gpu = [](uint8_t owner) { return owner < kMaxGpus; };
    if (is_gpu(source) && is_gpu(destination)) return source == destination ? Direction::device_to_device : Direction::peer;
    if (source == kOwnerHost && destination == kOwnerHost) return Direction::host_to_host;
    if (source == kOwnerHost && is_gpu(destination)) return Direction::host_to_device;
    if (is_gpu(source) && destination == kOwnerHost) return Direction::device_to_host;
    return Direction::other;
}

void Copied::add(uint8_t source, uint8_t destination, uint64_t more) {
    const Direction own = direction_between(source, destination);
    direction = direction == Direction::none || direction == own ? own : Direction::other;
    bytes += more;
}

}  // namespace snoopie
