#include "memory/device_owners.h"

namespace snoopie {

namespace {

bool is_host(const CUmemLocation& location) {
    return location.type == CU_MEM_LOCATION_TYPE_HOST || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
           location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

}  // namespace

DeviceOwners::DeviceOwners(std::vector<GpuInfo> gpus, GpuOf gpu_of) : gpus_(std::move(gpus)), gpu_of_(std::move(gpu_of)) {
    for (const GpuInfo& gpu : gpus_) visible_gpus_ += gpu.visible;
}

uint8_t DeviceOwners::at(CUdevice device) const {
    if (device == CU_DEVICE_CPU) return kOwnerHost;
    if (device >= 0 && static_cast<size_t>(device) < visible_gpus_) return static_cast<uint8_t>(device);
    // A GPU that this process does not see: known only where there is just one of them.
    return gpus_.size() == visible_gpus_ + 1 ? static_cast<uint8_t>(visible_gpus_) : kOwnerUnknown;
}

uint8_t DeviceOwners::at(const CUmemLocation& location) const {
    if (is_host(location)) return kOwnerHost;
    return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? at(location.id) : kOwnerUnknown;
}

uint8_t DeviceOwners::by_uuid(const std::string& uuid) const {
    for (size_t gpu = 0; gpu < gpus_.size(); ++gpu)
        if (gpus_[gpu].uuid == uuid) return static_cast<uint8_t>(gpu);
    return kOwnerUnknown;
}

}  // namespace snoopie
