// NVSHMEM's symmetric allocations as objects of the trace: the process's own part and those of other PEs that it reaches, each inside what
// the heap is made of.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "libraries/nvshmem_calls.h"
#include "memory/memory.h"

namespace snoopie {

class SymmetricObjects : public SymmetricSink {
  public:
    // `recording`: whether there still is a trace; `maker_of`: of the calling thread, in a call of this name.
    SymmetricObjects(Memory* memory, std::function<bool()> recording, std::function<Maker(const char* call)> maker_of)
        : memory_(memory), recording_(std::move(recording)), maker_of_(std::move(maker_of)) {}

    void symmetric_allocated(const SymmetricMemory& memory) noexcept override;
    void symmetric_freed(uint64_t own) noexcept override;

  private:
    uint32_t part(uint64_t address, uint64_t bytes, const Maker& by);

    Memory* const memory_;
    const std::function<bool()> recording_;
    const std::function<Maker(const char* call)> maker_of_;
    std::mutex mutex_;
    std::map<uint64_t, std::vector<uint32_t>> objects_;  // by own address
};

}  // namespace snoopie
