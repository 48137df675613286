// Whose memory it is that a driver call names by a context, a device, a location or a UUID.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "driver/driver.h"

namespace snoopie {

class DeviceOwners {
  public:
    // The ordinal of a context's GPU, -1 if it is not known.
    using GpuOf = std::function<int(CUcontext)>;

    // `gpus`: those of the header, the ones that this process sees first.
    DeviceOwners(std::vector<GpuInfo> gpus, GpuOf gpu_of);

    int gpu_of(CUcontext context) const { return gpu_of_(context); }
    // Of what is made in the context.
    uint8_t in(CUcontext context) const { return of_gpu(gpu_of_(context)); }
    uint8_t at(CUdevice device) const;
    uint8_t at(const CUmemLocation& location) const;
    uint8_t by_uuid(const std::string& uuid) const;
    // -1 is none.
    static uint8_t of_gpu(int gpu) { return gpu < 0 ? kOwnerUnknown : static_cast<uint8_t>(gpu); }

    size_t gpus() const { return gpus_.size(); }
    size_t visible_gpus() const { return visible_gpus_; }
    bool all_visible() const { return visible_gpus_ == gpus_.size(); }
    bool is_gpu(uint8_t owner) const { return owner < gpus_.size(); }
    const std::string& uuid(uint8_t gpu) const { return gpus_[gpu].uuid; }

  private:
    const std::vector<GpuInfo> gpus_;
    const GpuOf gpu_of_;
    size_t visible_gpus_ = 0;
};

}  // namespace snoopie
