#include "driver/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

#include "trace/owners.h"

// Drivers that lack it load the tool all the same.
#pragma weak cuStreamGetCaptureInfo_v2

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
        count_ = reinterpret_cast<int (*)(unsigned*)>(dlsym(library_, "nvmlDeviceGetCount_v2"));
        by_index_ = reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library_, "nvmlDeviceGetHandleByIndex_v2"));
        uuid_ = reinterpret_cast<int (*)(void*, char*, unsigned)>(dlsym(library_, "nvmlDeviceGetUUID"));
        name_ = reinterpret_cast<int (*)(void*, char*, unsigned)>(dlsym(library_, "nvmlDeviceGetName"));
        pci_ = reinterpret_cast<int (*)(void*, Pci*)>(dlsym(library_, "nvmlDeviceGetPciInfo_v3"));
        capability_ = reinterpret_cast<int (*)(void*, int*, int*)>(dlsym(library_, "nvmlDeviceGetCudaComputeCapability"));
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
        return nvlinks(device);
    }

    // All GPUs of the machine, also those that CUDA does not show to this process.
    std::vector<GpuInfo> gpus() const {
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

  private:
    // nvmlPciInfo_t.
    struct Pci {
        char bus_id_legacy[16];
        unsigned domain, bus, device, device_id, subsystem_id;
        char bus_id[32];
    };

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
    for (const GpuInfo& gpu : nvml.gpus()) {
        const bool known = std::any_of(gpus.begin(), gpus.end(), [&](const GpuInfo& seen) { return seen.uuid == gpu.uuid; });
        if (!known && gpus.size() < kMaxGpus) gpus.push_back(gpu);
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

bool multicast_supported(CUcontext context) {
    const int device = gpu_of(context);
    int supported = 0;
    const OwnCalls own;
    return device >= 0 && cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device) == CUDA_SUCCESS && supported;
}

int gpu_of(CUcontext context) {
    const CurrentContext current(context);
    CUdevice device = -1;
    return succeeded(cuCtxGetDevice(&device)) ? device : -1;
}

bool capturing(CUstream stream) {
    const OwnCalls own;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUgraphNode last_captured(CUstream stream) {
    if (!cuStreamGetCaptureInfo_v2) return nullptr;
    const OwnCalls own;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode* last = nullptr;
    size_t count = 0;
    // Not a failure of the collector where it fails: of programmatic launches this call cannot tell.
    const bool told = cuStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &last, &count) == CUDA_SUCCESS;
    return told && count == 1 ? last[0] : nullptr;
}

CUcontext context_of(CUstream stream, CUcontext current) {
    if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return current;
    const OwnCalls own;
    CUcontext context = nullptr;
    return cuStreamGetCtx(stream, &context) == CUDA_SUCCESS && context ? context : current;
}

std::optional<uint8_t> owner_by_driver(CUdeviceptr address) {
    const OwnCalls own;
    unsigned type = 0;
    unsigned managed = 0;
    int device = -1;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* values[] = {&type, &managed, &device};
    // Of an unknown address this is no error: the type stays 0.
    if (cuPointerGetAttributes(3, attributes, values, address) != CUDA_SUCCESS || type == 0) return std::nullopt;
    if (type == CU_MEMORYTYPE_HOST || managed) return kOwnerHost;
    return owner_of_device(device);
}

CUdeviceptr device_address(void* host) {
    const OwnCalls own;
    CUdeviceptr address = 0;
    if (cuMemHostGetDevicePointer_v2(&address, host, 0) == CUDA_SUCCESS) return address;
    // With unified addressing it is nearly always where the host sees it.
    return reinterpret_cast<CUdeviceptr>(host);
}

std::optional<uint8_t> last_prefetched_to(CUdeviceptr address, size_t bytes) {
    const OwnCalls own;
    int device = CU_DEVICE_INVALID;
    const CUresult result = cuMemRangeGetAttribute(&device, sizeof device, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, address, bytes);
    if (result != CUDA_SUCCESS || device == CU_DEVICE_INVALID) return std::nullopt;
    return device == CU_DEVICE_CPU ? kOwnerHost : owner_of_device(device);
}

}  // namespace snoopie
