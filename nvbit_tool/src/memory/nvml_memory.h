// Memory in use as NVML, the driver's library for monitoring, reports it. It is loaded only if it is there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/memory_use.h"

namespace snoopie {

class NvmlMemory {
  public:
    // Of the GPUs with these UUIDs. Null without NVML.
    static std::unique_ptr<NvmlMemory> open(const std::vector<std::string>& uuids);
    ~NvmlMemory();
    NvmlMemory(const NvmlMemory&) = delete;
    NvmlMemory& operator=(const NvmlMemory&) = delete;

    UsedBytes ask(size_t gpu) const;

  private:
    NvmlMemory() = default;
    int64_t used_by_all(void* device) const;
    int64_t used_by_this_process(void* device) const;

    // NVML's stable C interface, as far as it is needed.
    struct Memory {
        unsigned long long total, free, used;
    };
    struct MemoryWithoutReserved {
        unsigned version;
        unsigned long long total, reserved, free, used;
    };
    struct ProcessInfo {
        unsigned pid;
        unsigned long long used;
        unsigned gpu_instance, compute_instance;
    };

    void* library_ = nullptr;
    std::vector<void*> devices_;  // null: NVML does not know the GPU
    int (*shutdown_)() = nullptr;
    int (*memory_)(void*, Memory*) = nullptr;
    int (*memory_without_reserved_)(void*, MemoryWithoutReserved*) = nullptr;
    int (*processes_)(void*, unsigned*, ProcessInfo*) = nullptr;
};

}  // namespace snoopie
