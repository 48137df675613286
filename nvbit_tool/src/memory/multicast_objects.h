// Calls that make multicast objects and add GPUs to them.
#pragma once

#include <optional>

#include "memory/device_owners.h"
#include "memory/multicast_sets.h"
#include "nvbit.h"
#include "trace/trace_writer.h"

namespace snoopie {

class MulticastObjects {
  public:
    MulticastObjects(TraceWriter* writer, const DeviceOwners* owners) : writer_(writer), owners_(owners) {}

    // Any call that has succeeded.
    void after(nvbit_api_cuda_t cbid, const void* params);

    // The set that owns the memory behind a handle; none if it is not a multicast object's.
    std::optional<uint8_t> owner(CUmemGenericAllocationHandle handle) const { return sets_.owner(handle); }
    void released(CUmemGenericAllocationHandle handle) { sets_.release(handle); }

  private:
    void added(CUmemGenericAllocationHandle handle, CUdevice device);

    TraceWriter* const writer_;
    const DeviceOwners* const owners_;
    MulticastSets sets_;
};

}  // namespace snoopie
