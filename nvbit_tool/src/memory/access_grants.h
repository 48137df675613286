// Calls that let a GPU access memory that is not its own: peers, and ranges that are mapped.
#pragma once

#include "memory/device_owners.h"
#include "memory/memory.h"
#include "nvbit.h"

namespace snoopie {

// Whether it lets a GPU in.
bool allows(const CUmemAccessDesc& access);

class AccessGrants {
  public:
    AccessGrants(Memory* memory, const DeviceOwners* owners) : memory_(memory), owners_(owners) {}

    // Any call that has succeeded.
    void after(CUcontext context, nvbit_api_cuda_t cbid, const void* params);

    void set(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count);

  private:
    void set_peer(CUcontext issuer, CUcontext owner, bool enabled);

    Memory* const memory_;
    const DeviceOwners* const owners_;
};

}  // namespace snoopie
