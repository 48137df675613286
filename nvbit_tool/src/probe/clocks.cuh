// The clocks of the GPU, and chance, which is made of one.
#pragma once

#include <cstdint>

namespace snoopie {
namespace {

__device__ __forceinline__ uint64_t clock_now() {
    uint64_t clock;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
    return clock;
}

// True one time in 2^Bits, by chance.
template <int Bits>
__device__ __forceinline__ bool by_chance() {
    return static_cast<uint32_t>(clock_now()) * 0x9E3779B1u >> (32 - Bits) == 0;
}

__device__ __forceinline__ uint64_t time_now() {
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

}  // namespace
}  // namespace snoopie
