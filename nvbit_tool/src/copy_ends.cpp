#include "copy_ends.h"

namespace snoopie {

uint8_t owner_of(const CopyEnd& end, const OwnerLookup& lookup, CUctx_st* current) {
    if (end.owner) return *end.owner;
    if (end.memory == MemoryType::array) return lookup.owner_of_array(end.array);
    const uint8_t mapped = lookup.owner_of(end.address);
    if (mapped != kOwnerHost || end.memory == MemoryType::host) return mapped;
    // Pinned or pageable host memory, a variable of a module, or an allocation that was not seen.
    if (const auto told = lookup.owner_by_driver(end.address)) return *told;
    if (end.memory == MemoryType::any) return kOwnerHost;
    return lookup.gpu_of(end.context ? end.context : current);
}

}  // namespace snoopie
