// The memory of a device, as a probe reads it: the state by its address, and the bytes of pages and of owners behind it.
#pragma once

#include "probe/probe_abi.h"

namespace snoopie {
namespace {

// A pointer of which the compiler knows that it is to global memory.
__device__ __forceinline__ ProbeState* state_of(uint64_t address) { return static_cast<ProbeState*>(__cvta_global_to_generic(address)); }

// The state by the upper half of its address: the lower one is 0. Made anew each time, so that one register is kept and not two.
__device__ __forceinline__ uint64_t state_at(uint32_t high) {
    uint64_t state;
    asm volatile("mov.b64 %0, {%1, %2};" : "=l"(state) : "r"(0), "r"(high));
    return state;
}

__device__ __forceinline__ uint32_t load_byte(uint64_t address) {
    uint32_t byte;
    asm volatile("ld.global.u8 %0, [%1 + %2];" : "=r"(byte) : "l"(address), "n"(sizeof(ProbeState)));
    return byte;
}

// Nothing is known of the first page: what is no address reads its byte, which takes no branch.
__device__ __forceinline__ uint32_t page_of(uint64_t address, bool executes) {
    return executes && address >> kAddressBits == 0 ? static_cast<uint32_t>(address >> kPageBits) : 0;
}

__device__ __forceinline__ uint32_t page_byte_of(uint64_t state, uint64_t address, bool executes = true) {
    return load_byte(state | page_of(address, executes));
}

// The page byte of the owner whose, or whose object's, this is. It is not kept in the cache near the warp: the host can have changed it
// since.
__device__ __forceinline__ uint32_t owner_byte(uint64_t state, uint32_t page_byte) {
    uint32_t owner;
    asm volatile("ld.global.L1::no_allocate.u8 %0, [%1];" : "=r"(owner) : "l"(state + kOwnerBytes + page_byte));
    return owner;
}

}  // namespace
}  // namespace snoopie
