// Calls that move managed memory, or say where it is to be.
#pragma once

#include "memory/device_owners.h"
#include "memory/memory.h"
#include "nvbit.h"

namespace snoopie {

class ManagedMoves {
  public:
    ManagedMoves(Memory* memory, const DeviceOwners* owners) : memory_(memory), owners_(owners) {}

    // Any call that has succeeded.
    void after(nvbit_api_cuda_t cbid, const void* params);

  private:
    Memory* const memory_;
    const DeviceOwners* const owners_;
};

}  // namespace snoopie
