// Calls that make physical memory (cuMemCreate), reserve addresses, map it there, and give back its handles.
#pragma once

#include <vector>

#include "memory/device_owners.h"
#include "memory/imports.h"
#include "memory/memory.h"
#include "memory/multicast_objects.h"
#include "memory/new_objects.h"
#include "memory/physical_memory.h"
#include "nvbit.h"

namespace snoopie {

class Mappings {
  public:
    Mappings(Memory* memory, const NewObjects* objects, const DeviceOwners* owners, Imports* imports, MulticastObjects* multicast)
        : memory_(memory), objects_(objects), owners_(owners), imports_(imports), multicast_(multicast) {}

    // Any call, at its entry and at its successful or failed exit.
    void before(nvbit_api_cuda_t cbid, const void* params);
    void after(nvbit_api_cuda_t cbid, const void* params, bool succeeded);

    // These have ended.
    void unmapped(const std::vector<Object>& mappings);

  private:
    void created(const cuMemCreate_params& call);
    void retained(const cuMemRetainAllocationHandle_params& call);
    void mapped(const cuMemMap_params& call);
    void released(CUmemGenericAllocationHandle handle, bool succeeded);
    // 0: none has.
    void ended(uint32_t allocation);

    Memory* const memory_;
    const NewObjects* const objects_;
    const DeviceOwners* const owners_;
    Imports* const imports_;
    MulticastObjects* const multicast_;
    PhysicalMemory physical_;
};

}  // namespace snoopie
