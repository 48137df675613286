// Calls that allocate memory of a GPU, of the host, or managed memory, each at once and at an address of its own.
#pragma once

#include "memory/device_owners.h"
#include "memory/new_objects.h"
#include "nvbit.h"

namespace snoopie {

class PlainAllocations {
  public:
    PlainAllocations(const NewObjects* objects, const DeviceOwners* owners) : objects_(objects), owners_(owners) {}

    // Any call that has succeeded.
    void after(CUcontext context, nvbit_api_cuda_t cbid, const void* params);

  private:
    const NewObjects* const objects_;
    const DeviceOwners* const owners_;
};

}  // namespace snoopie
