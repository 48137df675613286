// A libnvidia-ml of one GPU, on which two processes have memory: this one, and one more. ONLY_OLD leaves out what older drivers lack.
#include <unistd.h>

#include <cstring>

namespace {

int device;

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
    *handle = &device;
    return std::strcmp(uuid, "GPU-known") == 0 ? 0 : 6;
}

struct Memory {
    unsigned long long total, free, used;
};

int nvmlDeviceGetMemoryInfo(void* handle, Memory* memory) {
    *memory = {1000, 300, 700};
    return handle == &device ? 0 : 2;
}

#ifndef ONLY_OLD
struct Memory2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(void* handle, Memory2* memory) {
    if (handle != &device || memory->version != (sizeof(Memory2) | 2u << 24)) return 2;
    *memory = {memory->version, 1000, 100, 300, 600};
    return 0;
}

struct Process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, Process* processes) {
    if (handle != &device || *count < 2) return 7;
    *count = 2;
    processes[0] = {1, 111, ~0u, ~0u};
    processes[1] = {static_cast<unsigned>(getpid()), 222, ~0u, ~0u};
    return 0;
}
#endif

}  // extern "C"
