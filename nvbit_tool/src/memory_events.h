// Driver events that make, map, move, share and end memory, turned into changes of Memory.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "exports.h"
#include "memory.h"
#include "multicast_sets.h"
#include "nvbit.h"

namespace snoopie {

class MemoryEvents {
  public:
    // `gpus`: those of the header, the ones that this process sees first.
    MemoryEvents(Memory* memory, TraceWriter* writer, std::vector<GpuInfo> gpus);

    // At the entry and at the successful or failed exit of a call. `gpu`: the ordinal of the event's context, -1 if it has none.
    void before(nvbit_api_cuda_t cbid, const void* params);
    void after(CUcontext context, int gpu, nvbit_api_cuda_t cbid, const void* params, bool succeeded);

    void end() { exports_.close(); }

  private:
    void add(CUdeviceptr address, size_t bytes, uint8_t owner, ObjectKind kind, CUcontext context);
    uint8_t owner_at(const CUmemLocation& location) const;
    uint8_t owner_at(CUdevice device) const;
    uint8_t owner_of_pool(CUmemoryPool pool, CUdeviceptr allocated, int gpu) const;
    uint8_t owner_by_uuid(const std::string& uuid) const;
    void publish(const void* handle, size_t bytes, uint8_t owner);
    uint8_t imported_owner(const void* handle, size_t bytes) const;

    void allocated(CUcontext context, int gpu, nvbit_api_cuda_t cbid, const void* params);
    void from_pool(int gpu, CUdeviceptr address, size_t bytes, CUmemoryPool pool, CUstream stream);
    void pool_access(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count);
    void graph_allocated(const CUDA_MEM_ALLOC_NODE_PARAMS& node);
    void mapped(const cuMemMap_params& call);
    void access_set(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count);
    void exported(const cuMemExportToShareableHandle_params& call);
    void imported(const cuMemImportFromShareableHandle_params& call);
    void ipc_opened(CUcontext context, int gpu, CUdeviceptr address, const CUipcMemHandle& handle);
    void pool_imported(int gpu, const cuMemPoolImportPointer_params& call);
    void array_created(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR& array_shape, int gpu);
    void multicast_added(CUmemGenericAllocationHandle handle, CUdevice device);

    Memory* const memory_;
    TraceWriter* const writer_;
    const std::vector<GpuInfo> gpus_;
    size_t visible_gpus_ = 0;
    Exports exports_;
    MulticastSets sets_;

    mutable std::mutex mutex_;
    std::unordered_map<CUmemGenericAllocationHandle, uint8_t> imported_;  // handles that came from another process, and their owners
    std::unordered_map<CUmemoryPool, uint8_t> pools_;
    std::unordered_map<CUarray, uint32_t> arrays_;  // object ids
};

}  // namespace snoopie
