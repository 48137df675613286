// How many launches there were, and what became of them.
#pragma once

#include <atomic>
#include <cstdint>

namespace snoopie {

struct LaunchTally {
    std::atomic<uint64_t> seen{0};
    std::atomic<uint64_t> boarded{0};
    std::atomic<uint64_t> harmless{0};    // without probes, because none of their accesses could leave the GPU
    std::atomic<uint64_t> lost{0};        // no counters were free
    std::atomic<uint64_t> unfollowed{0};  // boarded, but their end cannot be seen
};

}  // namespace snoopie
