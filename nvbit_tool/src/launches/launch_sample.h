// Which launches of a kernel LAUNCH_SAMPLE measures: one in every n, the first of all, and then at places that a hash chooses, because
// programs repeat themselves: one that alternates between two buffers is not met at the same one every time.
#pragma once

#include <cstdint>

namespace snoopie {

// `ordinal`: launches of the kernel before this one.
inline bool launch_sampled(uint64_t ordinal, uint32_t n) {
    if (n <= 1) return true;
    const uint64_t period = ordinal / n;
    uint64_t h = period * 0x9E3779B97F4A7C15ull;
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9ull;
    return ordinal % n == (period == 0 ? 0 : (h >> 32) % n);
}

}  // namespace snoopie
