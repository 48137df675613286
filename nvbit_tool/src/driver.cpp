#include "driver.h"

#include <dlfcn.h>

#include <cstdio>

namespace snoopie {

std::atomic<uint64_t> driver_errors{0};
thread_local int OwnCalls::depth_ = 0;

OwnCalls::OwnCalls() {
    if (depth_++ == 0) cuThreadExchangeStreamCaptureMode(&mode_);
}

OwnCalls::~OwnCalls() {
    if (depth_ == 1) cuThreadExchangeStreamCaptureMode(&mode_);
    --depth_;
}

namespace {

std::string uuid_text(const CUuuid& uuid) {
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        char byte[4];
        std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += byte;
    }
    return text;
}

// Active NVLinks of a GPU by NVML, which is loaded only if it is there. The few declarations needed are NVML's stable C interface.
class Nvml {
  public:
    Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
        if (!library_) return;
        const auto init = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlInit_v2"));
        shutdown_ = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlShutdown"));
        by_pci_ = reinterpret_cast<int (*)(const char*, void**)>(dlsym(library_, "nvmlDeviceGetHandleByPciBusId_v2"));
        link_state_ = reinterpret_cast<int (*)(void*, unsigned, unsigned*)>(dlsym(library_, "nvmlDeviceGetNvLinkState"));
        ready_ = init && shutdown_ && by_pci_ && link_state_ && init() == 0;
    }
    ~Nvml() {
        if (ready_) shutdown_();
        if (library_) dlclose(library_);
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    int nvlinks(const std::string& pci) const {
        void* device = nullptr;
        if (!ready_ || by_pci_(pci.c_str(), &device) != 0) return -1;
        constexpr unsigned kMaxLinks = 18;  // NVML_NVLINK_MAX_LINKS
        int active = 0;
        for (unsigned link = 0; link < kMaxLinks; ++link) {
            unsigned state = 0;
            if (link_state_(device, link, &state) == 0 && state == 1) ++active;
        }
        return active;
    }

  private:
    void* library_;
    bool ready_ = false;
    int (*shutdown_)() = nullptr;
    int (*by_pci_)(const char*, void**) = nullptr;
    int (*link_state_)(void*, unsigned, unsigned*) = nullptr;
};

}  // namespace

std::vector<GpuInfo> find_gpus() {
    const OwnCalls own;
    const Nvml nvml;
    std::vector<GpuInfo> gpus;
    int count = 0;
    succeeded(cuDeviceGetCount(&count));
    for (int i = 0; i < count; ++i) {
        CUdevice device = 0;
        GpuInfo gpu;
        CUuuid uuid{};
        char text[256] = "";
        int major = 0;
        int minor = 0;
        size_t memory = 0;
        succeeded(cuDeviceGet(&device, i));
        if (succeeded(cuDeviceGetUuid_v2(&uuid, device))) gpu.uuid = uuid_text(uuid);
        if (succeeded(cuDeviceGetName(text, sizeof text, device))) gpu.name = text;
        if (succeeded(cuDeviceGetPCIBusId(text, sizeof text, device))) gpu.pci = text;
        if (succeeded(cuDeviceTotalMem_v2(&memory, device))) gpu.memory = memory;
        succeeded(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
        succeeded(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
        gpu.sm = major * 10 + minor;
        gpu.nvlinks = nvml.nvlinks(gpu.pci);
        gpus.push_back(gpu);
    }
    return gpus;
}

std::vector<LinkInfo> find_links() {
    const OwnCalls own;
    std::vector<LinkInfo> links;
    int count = 0;
    succeeded(cuDeviceGetCount(&count));
    for (int issuer = 0; issuer < count; ++issuer) {
        for (int owner = 0; owner < count; ++owner) {
            if (issuer == owner) continue;
            const auto attribute = [&](CUdevice_P2PAttribute which) {
                int value = 0;
                succeeded(cuDeviceGetP2PAttribute(&value, which, issuer, owner));
                return value;
            };
            links.push_back({issuer, owner, attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED) != 0,
                             attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) != 0,
                             attribute(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)});
        }
    }
    return links;
}

std::string driver_version() {
    const OwnCalls own;
    int version = 0;
    succeeded(cuDriverGetVersion(&version));
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int gpu_of(CUcontext context) {
    const CurrentContext current(context);
    CUdevice device = -1;
    return succeeded(cuCtxGetDevice(&device)) ? device : -1;
}

}  // namespace snoopie
