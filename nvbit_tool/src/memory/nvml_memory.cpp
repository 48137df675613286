#include "memory/nvml_memory.h"

#include <dlfcn.h>
#include <unistd.h>

namespace snoopie {

namespace {

constexpr unsigned kMostProcesses = 1024;

template <class Function>
void find(void* library, const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

std::unique_ptr<NvmlMemory> NvmlMemory::open(const std::vector<std::string>& uuids) {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return nullptr;
    int (*init)() = nullptr;
    int (*by_uuid)(const char*, void**) = nullptr;
    find(library, "nvmlInit_v2", &init);
    find(library, "nvmlDeviceGetHandleByUUID", &by_uuid);
    if (!init || !by_uuid || init() != 0) {
        dlclose(library);
        return nullptr;
    }
    std::unique_ptr<NvmlMemory> nvml(new NvmlMemory);
    nvml->library_ = library;
    find(library, "nvmlShutdown", &nvml->shutdown_);
    find(library, "nvmlDeviceGetMemoryInfo", &nvml->memory_);
    find(library, "nvmlDeviceGetMemoryInfo_v2", &nvml->memory_without_reserved_);
    find(library, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml->processes_);
    for (const std::string& uuid : uuids) {
        void* device = nullptr;
        if (by_uuid(uuid.c_str(), &device) != 0) device = nullptr;
        nvml->devices_.push_back(device);
    }
    return nvml;
}

NvmlMemory::~NvmlMemory() {
    if (shutdown_) shutdown_();
    dlclose(library_);
}

UsedBytes NvmlMemory::ask(size_t gpu) const {
    void* const device = devices_[gpu];
    if (!device) return {};
    return {used_by_all(device), used_by_this_process(device)};
}

// Without what the driver keeps for itself, as nvidia-smi shows it; older drivers count that too.
int64_t NvmlMemory::used_by_all(void* device) const {
    MemoryWithoutReserved without{};
    without.version = static_cast<unsigned>(sizeof without) | 2u << 24;
    if (memory_without_reserved_ && memory_without_reserved_(device, &without) == 0) return static_cast<int64_t>(without.used);
    Memory memory{};
    return memory_ && memory_(device, &memory) == 0 ? static_cast<int64_t>(memory.used) : -1;
}

int64_t NvmlMemory::used_by_this_process(void* device) const {
    std::vector<ProcessInfo> processes(kMostProcesses);
    unsigned count = kMostProcesses;
    if (!processes_ || processes_(device, &count, processes.data()) != 0 || count > kMostProcesses) return -1;
    const auto pid = static_cast<unsigned>(getpid());
    // In a container, a process has another number than NVML knows it by.
    for (unsigned i = 0; i < count; ++i)
        if (processes[i].pid == pid) return static_cast<int64_t>(processes[i].used);  // which is all ones where it is unknown: -1
    return -1;
}

}  // namespace snoopie
