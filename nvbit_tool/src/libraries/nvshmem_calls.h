// The program's calls of NVSHMEM that make and free symmetric memory: this library, being preloaded, stands before NVSHMEM, passes every
// call on, and tells of those that succeed.
//
// A program that looks up NVSHMEM's functions in a library that it has opened itself (dlopen and dlsym) passes by; so does one that has
// NVSHMEM's host library linked into it.
#pragma once

#include <cstdint>
#include <vector>

namespace snoopie {

// Where a process finds one allocation, which every PE has at the same place of its heap.
struct SymmetricMemory {
    const char* call = "";  // that made it
    uint64_t own = 0;
    uint64_t bytes = 0;
    std::vector<uint64_t> others;  // of the PEs whose memory it reaches
};

// An exception does not pass from one library into the other.
class SymmetricSink {
  public:
    // On the thread of the call.
    virtual void symmetric_allocated(const SymmetricMemory& memory) noexcept = 0;
    virtual void symmetric_freed(uint64_t own) noexcept = 0;

  protected:
    ~SymmetricSink() = default;
};

// Who receives them from now on; it lives as long as the process. Calls that end earlier are not reported.
void send_symmetric_memory_to(SymmetricSink* sink);

}  // namespace snoopie
