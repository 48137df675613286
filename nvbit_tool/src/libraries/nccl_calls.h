// The program's NCCL calls: this library, being preloaded, stands before NCCL, passes every call on, and tells of those that succeed.
//
// A program that looks up NCCL's functions in a library that it has opened itself (dlopen and dlsym) passes by; so does one that has NCCL
// linked into it: of its calls NCCL tells by NVTX (nccl_ranges.h). Communicators that do not block launch their kernels on a thread of
// NCCL's own: these launches belong to no group here.
#pragma once

#include <cstdint>
#include <vector>

#include "libraries/collective.h"

namespace snoopie {

// An exception does not pass from one library into the other.
class CollectiveSink {
  public:
    // The calls of one group, in their order, after it was carried out. On the thread that made them.
    virtual void collectives(const std::vector<Collective>& calls) noexcept = 0;

  protected:
    ~CollectiveSink() = default;
};

// Who receives them from now on; it lives as long as the process. Calls that end earlier are not reported.
void send_collectives_to(CollectiveSink* sink);

// The group that NCCL carries out on this thread at the moment, if it has a call on this GPU (ordinal); else 0.
uint32_t current_collective_group(int gpu);

}  // namespace snoopie
