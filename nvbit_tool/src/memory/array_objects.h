// CUDA arrays as objects of the trace: memory that has no address.
#pragma once

#include <mutex>
#include <unordered_map>

#include "memory/device_owners.h"
#include "memory/memory.h"
#include "memory/new_objects.h"
#include "nvbit.h"

namespace snoopie {

class ArrayObjects {
  public:
    ArrayObjects(Memory* memory, const NewObjects* objects, const DeviceOwners* owners)
        : memory_(memory), objects_(objects), owners_(owners) {}

    // Any call that has succeeded.
    void after(CUcontext context, nvbit_api_cuda_t cbid, const void* params);

    // The context ends, and with it its arrays.
    void context_ending(CUcontext context);

  private:
    void created(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR& shape, CUcontext context);
    void destroyed(CUarray array);

    Memory* const memory_;
    const NewObjects* const objects_;
    const DeviceOwners* const owners_;

    std::mutex mutex_;
    struct Array {
        uint32_t object;
        CUcontext context;
    };
    std::unordered_map<CUarray, Array> arrays_;
};

}  // namespace snoopie
