// NVSHMEM's symmetric allocations as objects of the trace: the process's own part and those of other PEs that it reaches, each inside what
// the heap is made of.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "memory.h"
#include "nvshmem_calls.h"

namespace snoopie {

class SymmetricObjects : public SymmetricSink {
  public:
    // `recording`: whether there still is a trace.
    SymmetricObjects(Memory* memory, std::function<bool()> recording) : memory_(memory), recording_(std::move(recording)) {}

    void symmetric_allocated(const SymmetricMemory& memory) override;
    void symmetric_freed(uint64_t own) override;

  private:
    uint32_t part(uint64_t address, uint64_t bytes);

    Memory* const memory_;
    const std::function<bool()> recording_;
    std::mutex mutex_;
    std::map<uint64_t, std::vector<uint32_t>> objects_;  // by own address
};

}  // namespace snoopie
