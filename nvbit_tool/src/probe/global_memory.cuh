// Loads and atomics whose memory is global for sure: of a generic address the compiler provides for shared memory as well.
#pragma once

#include <cstdint>

namespace snoopie {
namespace {

__device__ __forceinline__ void add(uint64_t address, uint64_t value) {
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ void read_pair(uint64_t address, uint32_t* first, uint32_t* second) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(*first), "=r"(*second) : "l"(address));
}

__device__ __forceinline__ uint64_t add_and_get(unsigned long long* address, uint64_t value) {
    uint64_t before;
    asm volatile("atom.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(address), "l"(value) : "memory");
    return before;
}

__device__ __forceinline__ void raise_to(uint64_t address, uint64_t value) {
    asm volatile("red.global.max.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ uint32_t exchange(unsigned int* address, uint32_t value) {
    uint32_t before;
    asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
    return before;
}

}  // namespace
}  // namespace snoopie
