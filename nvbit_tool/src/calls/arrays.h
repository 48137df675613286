// In which context each CUDA array was made: its memory is that of the context's GPU, and it has no address to look up.
#pragma once

#include <mutex>
#include <unordered_map>

#include "driver/driver.h"
#include "nvbit.h"

namespace snoopie {

// Bytes of one element; 0 where the format has no elements (block-compressed, planar) or is unknown.
uint64_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array);
uint64_t element_bytes(CUarray array);

// Safe to call from any thread.
class Arrays {
  public:
    // A driver call of `context` that has succeeded.
    void at_event(CUcontext context, nvbit_api_cuda_t cbid, const void* params);

    // Null for an array that is not known.
    CUcontext context_of(CUarray array) const;

  private:
    void made(const void* handle, CUcontext context);
    void part_of(const void* handle, const void* whole);
    void destroyed(const void* handle);

    mutable std::mutex mutex_;
    std::unordered_map<const void*, CUcontext> contexts_;  // by CUarray and CUmipmappedArray
};

}  // namespace snoopie
