// Prints what NVML says of a GPU that it knows, and of one that it does not.
#include <cstdio>

#include "memory/nvml_memory.h"

int main() {
    const auto nvml = snoopie::NvmlMemory::open({"GPU-known", "GPU-unknown"});
    if (!nvml) return std::puts("no NVML"), 0;
    for (size_t gpu = 0; gpu < 2; ++gpu) {
        const snoopie::UsedBytes bytes = nvml->ask(gpu);
        std::printf("%lld %lld\n", static_cast<long long>(bytes.by_all), static_cast<long long>(bytes.by_this_process));
    }
    return 0;
}
