// Driver events that make, map, move, share and end memory, turned into changes of Memory.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/exports.h"
#include "memory/memory.h"
#include "memory/multicast_sets.h"
#include "memory/physical_memory.h"
#include "memory/pool_use.h"
#include "nvbit.h"

namespace snoopie {

class MemoryEvents {
  public:
    // The ordinal of a context's GPU, -1 if it is not known.
    using GpuOf = std::function<int(CUcontext)>;

    // `gpus`: those of the header, the ones that this process sees first.
    // Of the calling thread, in a call of this name.
    using MakerOf = std::function<Maker(const char* call)>;

    // `pool_bytes`: where to leave what the driver says of memory pools.
    MemoryEvents(Memory* memory, TraceWriter* writer, std::vector<GpuInfo> gpus, PoolBytes* pool_bytes, GpuOf gpu_of, MakerOf maker_of);

    // At the entry and at the successful or failed exit of any call. Most are not about memory, and cost no more than a look.
    void before(nvbit_api_cuda_t cbid, const void* params);
    void after(CUcontext context, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded);

    // The context ends, and with it its arrays.
    void context_ending(CUcontext context);

    // While the driver still answers.
    void program_exits();
    // Asks the driver which objects are gone.
    void look_for_freed();
    void end() { exports_.close(); }

  private:
    // The calling thread, in the exit of the call that makes an object.
    Maker maker() const;
    // Owner of what is made in a context.
    uint8_t owner_in(CUcontext context) const;
    void add(CUdeviceptr address, size_t bytes, uint8_t owner, ObjectKind kind, CUcontext context);
    uint8_t owner_at(const CUmemLocation& location) const;
    uint8_t owner_at(CUdevice device) const;
    uint8_t owner_of_pool(CUmemoryPool pool, CUdeviceptr allocated, int gpu) const;
    uint8_t owner_by_uuid(const std::string& uuid) const;
    void publish(const void* handle, size_t bytes, uint8_t owner);
    uint8_t imported_owner(const void* handle, size_t bytes) const;

    void allocated(CUcontext context, nvbit_api_cuda_t cbid, const void* params);
    void from_pool(int gpu, CUdeviceptr address, size_t bytes, CUmemoryPool pool, CUstream stream);
    void pool_access(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count);
    template <class Node>
    void graph_allocated(const Node& node);
    void created(const cuMemCreate_params& call);
    void retained(const cuMemRetainAllocationHandle_params& call);
    void mapped(const cuMemMap_params& call);
    void released(CUmemGenericAllocationHandle handle);
    void unmapped(const std::vector<Object>& mappings);
    void ended(uint32_t allocation);
    void access_set(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count);
    void peer_access(CUcontext issuer, CUcontext owner, bool enabled);
    void exported(const cuMemExportToShareableHandle_params& call);
    void imported(const cuMemImportFromShareableHandle_params& call);
    void pool_imported(int gpu, const cuMemPoolImportPointer_params& call);
    // Memory of another process from `address` to the end of its allocation. `gpu`: which may now access it, -1 = not known.
    void add_import(CUdeviceptr address, uint8_t owner, int gpu, CUcontext context);
    void array_created(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR& array_shape, CUcontext context);
    void array_destroyed(CUarray array);
    void multicast_added(CUmemGenericAllocationHandle handle, CUdevice device);

    Memory* const memory_;
    TraceWriter* const writer_;
    const std::vector<GpuInfo> gpus_;
    const GpuOf gpu_of_;
    const MakerOf maker_of_;
    size_t visible_gpus_ = 0;
    Exports exports_;
    MulticastSets sets_;
    PhysicalMemory physical_;
    PoolUse pool_use_;

    mutable std::mutex mutex_;
    std::unordered_map<CUmemGenericAllocationHandle, uint8_t> imported_;  // handles that came from another process, and their owners
    std::unordered_map<CUmemoryPool, uint8_t> pools_;
    struct Array {
        uint32_t object;
        CUcontext context;
    };
    std::unordered_map<CUarray, Array> arrays_;
};

}  // namespace snoopie
