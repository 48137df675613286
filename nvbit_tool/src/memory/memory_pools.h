// Calls about memory that comes in stream order: from pools, and from nodes of graphs.
#pragma once

#include <mutex>
#include <unordered_map>

#include "memory/access_grants.h"
#include "memory/device_owners.h"
#include "memory/memory.h"
#include "memory/new_objects.h"
#include "memory/pool_use.h"
#include "nvbit.h"

namespace snoopie {

class MemoryPools {
  public:
    // `pool_bytes`: where to leave what the driver says of memory pools.
    MemoryPools(Memory* memory, const NewObjects* objects, const DeviceOwners* owners, AccessGrants* access, PoolBytes* pool_bytes)
        : memory_(memory), objects_(objects), owners_(owners), access_(access), use_(pool_bytes) {}

    // Any call, and any call that has succeeded.
    void before(nvbit_api_cuda_t cbid, const void* params);
    void after(CUcontext context, nvbit_api_cuda_t cbid, const void* params);

    PoolUse& use() { return use_; }

  private:
    // `allocated` from it, 0 = nothing; by a thread whose GPU is `gpu`, -1 = not known.
    uint8_t owner_of(CUmemoryPool pool, CUdeviceptr allocated, int gpu) const;
    void allocated(int gpu, CUdeviceptr address, size_t bytes, CUmemoryPool pool, CUstream stream);
    void access_set(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count);
    template <class Node>
    void graph_allocated(const Node& node);

    Memory* const memory_;
    const NewObjects* const objects_;
    const DeviceOwners* const owners_;
    AccessGrants* const access_;
    PoolUse use_;

    mutable std::mutex mutex_;
    std::unordered_map<CUmemoryPool, uint8_t> pools_;  // that the program made, and their owners
};

}  // namespace snoopie
