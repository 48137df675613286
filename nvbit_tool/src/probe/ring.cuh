// The warp's end of the ring of records; see probe_abi.h for the memory and the protocol.
#pragma once

#include <cstddef>

#include "probe/clocks.cuh"
#include "probe/global_memory.cuh"
#include "probe/probe_abi.h"

namespace snoopie {
namespace {

// Where all accesses are in the sample, the host knows from their counts how many have no record.
__device__ __forceinline__ void drop(ProbeState* state) {
    if (state->sample_size > 1) add(reinterpret_cast<uint64_t>(&state->dropped), 1);
}

// Units that are in use as far as is known, modulo 2^32. Both ends are read at once: warps queue up for their line.
__device__ __forceinline__ uint32_t in_use(const ProbeState* state) {
    static_assert(offsetof(ProbeState, head_seen) == offsetof(ProbeState, tail) + sizeof(state->tail), "one load has both");
    uint64_t tail, head;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(tail), "=l"(head) : "l"(&state->tail) : "memory");
    return static_cast<uint32_t>(tail) - static_cast<uint32_t>(head);
}

constexpr uint64_t kNoPlace = ~0ull;  // in the ring

// Reserves `units` in the ring: the place of the first, kNoPlace if it is too full. See probe_abi.h for why no reservation passes the head.
__device__ __forceinline__ uint64_t reserve(ProbeState* state, uint32_t units) {
    // Who takes the ring for full may have read so long ago: this renews what is in the cache, all of it, and so is done rarely.
    if (state->full && by_chance<6>()) asm volatile("{.reg .u32 now; ld.acquire.gpu.global.u32 now, [%0];}" ::"l"(&state->full) : "memory");
    // Differences of 32 bits: the ring has fewer units.
    const uint32_t limit = static_cast<uint32_t>(state->ring_limit);
    if (in_use(state) >= limit) {
        // A look at the host's memory takes long, and thousands of warps would queue up for theirs: one looks for all.
        volatile unsigned int* looking = &state->looking;
        if (*looking != 0 || exchange(&state->looking, 1) != 0) return kNoPlace;
        raise_to(reinterpret_cast<uint64_t>(&state->head_seen), *state->ring_head);
        const bool full = in_use(state) >= limit;
        *const_cast<volatile uint32_t*>(&state->full) = full;
        *looking = 0;
        if (full) return kNoPlace;
    }
    return add_and_get(&state->tail, units);
}

__device__ __forceinline__ volatile uint64_t* unit_of(ProbeState* state, uint64_t unit) {
    return const_cast<volatile uint64_t*>(state->ring) + (static_cast<uint32_t>(unit) & (state->ring_units - 1)) * kWordsPerUnit;
}

__device__ __forceinline__ void write_head(ProbeState* state, uint64_t at, const RecordHead& head) {
    volatile uint64_t* unit = unit_of(state, at);
    const uint64_t stamp = lap_stamp(at, state->ring_log2);
    SNOOPIE_ROLL
    for (uint32_t word = 0; word < kHeadWords; ++word) unit[word] = head_word(head, word) | stamp;
}

}  // namespace
}  // namespace snoopie
