// Calls that share memory with other processes: what this one exports, and whose memory it imports.
#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>

#include "memory/device_owners.h"
#include "memory/exports.h"
#include "memory/memory.h"
#include "memory/new_objects.h"
#include "nvbit.h"

namespace snoopie {

class Imports {
  public:
    Imports(Memory* memory, const NewObjects* objects, const DeviceOwners* owners)
        : memory_(memory), objects_(objects), owners_(owners), exports_(Exports::default_folder()) {}

    // Any call that has succeeded.
    void after(CUcontext context, nvbit_api_cuda_t cbid, const void* params);

    // Owner of a handle that came from another process, kOwnerUnknown if nobody has said; none for any other handle.
    std::optional<uint8_t> owner(CUmemGenericAllocationHandle handle) const;
    // The handle is released.
    void released(CUmemGenericAllocationHandle handle);

    // Ends what is due of what this process keeps for others.
    void tidy() { exports_.tidy(); }
    void close() { exports_.close(); }

  private:
    void publish(const void* handle, size_t bytes, uint8_t owner);
    uint8_t published_owner(const void* handle, size_t bytes) const;
    void exported(const cuMemExportToShareableHandle_params& call);
    void imported(const cuMemImportFromShareableHandle_params& call);
    void pool_imported(int gpu, const cuMemPoolImportPointer_params& call);
    // Memory of another process from `address` to the end of its allocation. `gpu`: which may now access it, -1 = not known.
    void add(CUdeviceptr address, uint8_t owner, int gpu, CUcontext context);

    Memory* const memory_;
    const NewObjects* const objects_;
    const DeviceOwners* const owners_;
    Exports exports_;

    mutable std::mutex mutex_;
    std::unordered_map<CUmemGenericAllocationHandle, uint8_t> imported_;
};

}  // namespace snoopie
