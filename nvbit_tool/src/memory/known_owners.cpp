#include "memory/known_owners.h"

namespace snoopie {

uint8_t KnownOwners::owner_of(uint64_t address) const { return memory_->map().owner_of(address).value_or(kOwnerHost); }

uint8_t KnownOwners::owner_of_array(CUarray array) const { return gpu_of(arrays_->context_of(array)); }

uint8_t KnownOwners::gpu_of(CUcontext handle) const {
    if (!handle) return kOwnerUnknown;
    const int known = contexts_->gpu(handle);
    return owner_of_device(known >= 0 ? known : snoopie::gpu_of(handle));
}

std::optional<uint8_t> KnownOwners::owner_by_driver(uint64_t address) const { return snoopie::owner_by_driver(address); }

}  // namespace snoopie
