// A libcuda.so.1 of two GPUs, which starts the tool of CUDA_INJECTION64_PATH in cuInit as the driver does, and ends at the program's exit.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kGpus = 2;
bool ended = false;

}  // namespace

extern "C" {

bool fake_driver_ended() { return ended; }

int cuInit(unsigned) {
    if (const char* path = std::getenv("CUDA_INJECTION64_PATH"); path && *path) {
        void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const auto start = library ? reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")) : nullptr;
        if (!start || start() != 1) std::fprintf(stderr, "fake driver: %s cannot be injected\n", path);
    }
    std::atexit([] { ended = true; });
    return 0;
}

int cuDriverGetVersion(int* version) {
    const char* const text = std::getenv("FAKE_CUDA");
    *version = text ? std::atoi(text) : 13000;
    return 0;
}

int cuDeviceGetCount(int* count) {
    *count = kGpus;
    return 0;
}

int cuDeviceGetUuid_v2(char* uuid, int device) {
    std::memset(uuid, 0x10 + device, 16);
    return 0;
}

int cuDeviceGetName(char* name, int size, int device) {
    std::snprintf(name, static_cast<size_t>(size), "Fake %d", device);
    return 0;
}

int cuDeviceGetPCIBusId(char* id, int size, int device) {
    std::snprintf(id, static_cast<size_t>(size), "0000:%02x:00.0", device);
    return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int) {
    *bytes = size_t{80} << 30;
    return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == 75 ? 9 : 0;
    return attribute == 75 || attribute == 76 ? 0 : 1;
}

int cuDeviceGetP2PAttribute(int* value, int attribute, int, int) {
    *value = attribute == 2 || attribute == 3;
    return 0;
}

}  // extern "C"
