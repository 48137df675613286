#include "times/machine.h"

#include <dlfcn.h>

#include "driver/nvml_gpus.h"

namespace snoopie {

namespace {

// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*, CU_DEVICE_P2P_ATTRIBUTE_*.
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;
constexpr int kPerformanceRank = 1, kAccessSupported = 2, kNativeAtomics = 3;

// A function of the driver's; one that is not there fails.
template <class... Arguments>
class Call {
  public:
    explicit Call(const char* name) {
        static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (driver) function_ = reinterpret_cast<int (*)(Arguments...)>(dlsym(driver, name));
    }
    bool operator()(Arguments... arguments) const { return function_ && function_(arguments...) == 0; }

  private:
    int (*function_)(Arguments...) = nullptr;
};

std::vector<GpuInfo> visible_gpus() {
    const Call<int*> device_count("cuDeviceGetCount");
    const Call<char*, int> uuid_of("cuDeviceGetUuid_v2");
    const Call<char*, int, int> name_of("cuDeviceGetName");
    const Call<char*, int, int> pci_of("cuDeviceGetPCIBusId");
    const Call<size_t*, int> memory_of("cuDeviceTotalMem_v2");
    const Call<int*, int, int> attribute("cuDeviceGetAttribute");
    std::vector<GpuInfo> gpus;
    int count = 0;
    if (!device_count(&count)) return gpus;
    // A device's handle is its ordinal.
    for (int device = 0; device < count; ++device) {
        GpuInfo gpu;
        char uuid[16];
        char text[256];
        size_t memory = 0;
        int major = 0;
        int minor = 0;
        if (uuid_of(uuid, device)) gpu.uuid = uuid_text(uuid);
        if (name_of(text, sizeof text, device)) gpu.name = text;
        if (pci_of(text, sizeof text, device)) gpu.pci = text;
        if (memory_of(&memory, device)) gpu.memory = memory;
        if (attribute(&major, kCapabilityMajor, device) && attribute(&minor, kCapabilityMinor, device)) gpu.sm = major * 10 + minor;
        gpus.push_back(gpu);
    }
    return gpus;
}

std::vector<LinkInfo> links_between(int gpus) {
    const Call<int*, int, int, int> attribute("cuDeviceGetP2PAttribute");
    std::vector<LinkInfo> links;
    for (int issuer = 0; issuer < gpus; ++issuer) {
        for (int owner = 0; owner < gpus; ++owner) {
            int access = 0;
            int atomics = 0;
            int rank = 0;
            if (issuer == owner || !attribute(&access, kAccessSupported, issuer, owner)) continue;
            attribute(&atomics, kNativeAtomics, issuer, owner);
            attribute(&rank, kPerformanceRank, issuer, owner);
            links.push_back({issuer, owner, access != 0, atomics != 0, rank});
        }
    }
    return links;
}

}  // namespace

Machine this_machine() {
    Machine machine;
    machine.gpus = visible_gpus();
    machine.visible = machine.gpus.size();
    machine.links = links_between(static_cast<int>(machine.visible));
    const NvmlGpus nvml;
    for (GpuInfo& gpu : machine.gpus) gpu.nvlinks = nvml.nvlinks(gpu.pci);
    nvml.add_others(&machine.gpus);
    return machine;
}

int driver_cuda_version() {
    int version = 0;
    return Call<int*>("cuDriverGetVersion")(&version) ? version : 0;
}

}  // namespace snoopie
