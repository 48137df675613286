// Whose memory the ends of a copy are: by what was seen of allocations, arrays and contexts, else by the driver.
#pragma once

#include "calls/arrays.h"
#include "calls/copy_ends.h"
#include "launches/contexts.h"
#include "memory/memory.h"

namespace snoopie {

class KnownOwners final : public OwnerLookup {
  public:
    KnownOwners(const Memory* memory, const Arrays* arrays, const Contexts* contexts)
        : memory_(memory), arrays_(arrays), contexts_(contexts) {}

    uint8_t owner_of(uint64_t address) const override;
    uint8_t owner_of_array(CUarray array) const override;
    uint8_t gpu_of(CUcontext handle) const override;
    std::optional<uint8_t> owner_by_driver(uint64_t address) const override;

  private:
    const Memory* const memory_;
    const Arrays* const arrays_;
    const Contexts* const contexts_;
};

}  // namespace snoopie
