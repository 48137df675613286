// Driver events that make, map, move, share and end memory, turned into changes of Memory.
#pragma once

#include <vector>

#include "memory/access_grants.h"
#include "memory/array_objects.h"
#include "memory/device_owners.h"
#include "memory/frees.h"
#include "memory/imports.h"
#include "memory/managed_moves.h"
#include "memory/mappings.h"
#include "memory/memory.h"
#include "memory/memory_pools.h"
#include "memory/multicast_objects.h"
#include "memory/new_objects.h"
#include "memory/plain_allocations.h"
#include "nvbit.h"

namespace snoopie {

class MemoryEvents {
  public:
    // `gpus`: those of the header, the ones that this process sees first. `pool_bytes`: where to leave what the driver says of memory
    // pools.
    MemoryEvents(Memory* memory, TraceWriter* writer, std::vector<GpuInfo> gpus, PoolBytes* pool_bytes, DeviceOwners::GpuOf gpu_of,
                 NewObjects::MakerOf maker_of);

    // At the entry and at the successful or failed exit of any call. Most are not about memory, and cost no more than a few looks.
    void before(nvbit_api_cuda_t cbid, const void* params);
    void after(CUcontext context, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded);

    // The context ends, and with it its arrays.
    void context_ending(CUcontext context) { arrays_.context_ending(context); }

    // While the driver still answers.
    void program_exits();
    // Asks the driver which objects are gone.
    void look_for_freed() { frees_.look(); }
    void end() { imports_.close(); }

  private:
    // Each knows only those before it. A call is one's alone.
    const DeviceOwners owners_;
    const NewObjects objects_;
    AccessGrants access_;
    PlainAllocations plain_;
    ManagedMoves managed_;
    MemoryPools pools_;
    Imports imports_;
    MulticastObjects multicast_;
    Mappings mappings_;
    ArrayObjects arrays_;
    Frees frees_;
};

}  // namespace snoopie
