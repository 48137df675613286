// The machine's GPUs and their NVLinks as NVML knows them, and UUIDs as the trace writes them. Needs neither the driver's headers nor
// NVML's.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "trace/owners.h"
#include "trace/trace_header.h"

namespace snoopie {

inline std::string uuid_text(const char* bytes) {
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        char byte[4];
        std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(bytes[i]));
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += byte;
    }
    return text;
}

// Active NVLinks of a GPU by NVML, which is loaded only if it is there. The few declarations needed are NVML's stable C interface.
class NvmlGpus {
  public:
    NvmlGpus() : library_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
        if (!library_) return;
        const auto init = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlInit_v2"));
        shutdown_ = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlShutdown"));
        by_pci_ = reinterpret_cast<int (*)(const char*, void**)>(dlsym(library_, "nvmlDeviceGetHandleByPciBusId_v2"));
        link_state_ = reinterpret_cast<int (*)(void*, unsigned, unsigned*)>(dlsym(library_, "nvmlDeviceGetNvLinkState"));
        count_ = reinterpret_cast<int (*)(unsigned*)>(dlsym(library_, "nvmlDeviceGetCount_v2"));
        by_index_ = reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library_, "nvmlDeviceGetHandleByIndex_v2"));
        uuid_ = reinterpret_cast<int (*)(void*, char*, unsigned)>(dlsym(library_, "nvmlDeviceGetUUID"));
        name_ = reinterpret_cast<int (*)(void*, char*, unsigned)>(dlsym(library_, "nvmlDeviceGetName"));
        pci_ = reinterpret_cast<int (*)(void*, Pci*)>(dlsym(library_, "nvmlDeviceGetPciInfo_v3"));
        capability_ = reinterpret_cast<int (*)(void*, int*, int*)>(dlsym(library_, "nvmlDeviceGetCudaComputeCapability"));
        ready_ = init && shutdown_ && by_pci_ && link_state_ && init() == 0;
    }
    ~NvmlGpus() {
        if (ready_) shutdown_();
        if (library_) dlclose(library_);
    }
    NvmlGpus(const NvmlGpus&) = delete;
    NvmlGpus& operator=(const NvmlGpus&) = delete;

    int nvlinks(const std::string& pci) const {
        void* device = nullptr;
        if (!ready_ || by_pci_(pci.c_str(), &device) != 0) return -1;
        return nvlinks(device);
    }

    // Adds the machine's others, which CUDA does not show to this process.
    void add_others(std::vector<GpuInfo>* gpus) const {
        for (const GpuInfo& gpu : all()) {
            const bool known = std::any_of(gpus->begin(), gpus->end(), [&](const GpuInfo& seen) { return seen.uuid == gpu.uuid; });
            if (!known && gpus->size() < kMaxGpus) gpus->push_back(gpu);
        }
    }

  private:
    // nvmlPciInfo_t.
    struct Pci {
        char bus_id_legacy[16];
        unsigned domain, bus, device, device_id, subsystem_id;
        char bus_id[32];
    };

    std::vector<GpuInfo> all() const {
        std::vector<GpuInfo> found;
        unsigned count = 0;
        if (!ready_ || !count_ || !by_index_ || !uuid_ || !name_ || !pci_ || !capability_ || count_(&count) != 0) return found;
        for (unsigned i = 0; i < count; ++i) {
            void* device = nullptr;
            char text[96] = "";
            Pci pci{};
            int major = 0;
            int minor = 0;
            GpuInfo gpu;
            if (by_index_(i, &device) != 0 || uuid_(device, text, sizeof text) != 0) continue;
            gpu.uuid = text;
            if (name_(device, text, sizeof text) == 0) gpu.name = text;
            if (pci_(device, &pci) == 0) gpu.pci = pci.bus_id;
            if (capability_(device, &major, &minor) == 0) gpu.sm = major * 10 + minor;
            gpu.nvlinks = nvlinks(device);
            gpu.visible = false;
            found.push_back(gpu);
        }
        return found;
    }

    int nvlinks(void* device) const {
        constexpr unsigned kMaxLinks = 18;  // NVML_NVLINK_MAX_LINKS
        int active = 0;
        for (unsigned link = 0; link < kMaxLinks; ++link) {
            unsigned state = 0;
            if (link_state_(device, link, &state) == 0 && state == 1) ++active;
        }
        return active;
    }

    void* library_;
    bool ready_ = false;
    int (*shutdown_)() = nullptr;
    int (*by_pci_)(const char*, void**) = nullptr;
    int (*link_state_)(void*, unsigned, unsigned*) = nullptr;
    int (*count_)(unsigned*) = nullptr;
    int (*by_index_)(unsigned, void**) = nullptr;
    int (*uuid_)(void*, char*, unsigned) = nullptr;
    int (*name_)(void*, char*, unsigned) = nullptr;
    int (*pci_)(void*, Pci*) = nullptr;
    int (*capability_)(void*, int*, int*) = nullptr;
};

}  // namespace snoopie
