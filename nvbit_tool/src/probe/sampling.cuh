// Which accesses are recorded.
#pragma once

#include <cstddef>

#include "probe/clocks.cuh"
#include "probe/global_memory.cuh"
#include "probe/grid.cuh"
#include "probe/lanes.cuh"
#include "probe/ring.cuh"
#include "probe/state.cuh"

namespace snoopie {
namespace {

// Whether an access is recorded. The clock makes every access another one; its hash, and not itself, makes the choice uniform over accesses
// whatever their timing, and not in step with any pattern of the program.
__device__ __forceinline__ bool in_sample(uint32_t sample_size) {
    return sampled(static_cast<uint32_t>(clock_now()), SNOOPIE_SPECIAL("ctaid.x"), sample_size);
}

// Whether an access of these lanes, which is counted in any case, asks for a record. They vote, as they record together: where the GPU runs
// them apart, each reads the clock and the state for itself, and it does so around page faults.
__device__ __forceinline__ bool asks(uint64_t state, uint32_t lanes) {
    static_assert(offsetof(ProbeState, sample_size) % 8 == 0 && offsetof(ProbeState, full) == offsetof(ProbeState, sample_size) + 4);
    uint32_t sample_size, full;
    read_pair(state + offsetof(ProbeState, sample_size), &sample_size, &full);
    if (__any_sync(lanes, sample_size > 1 && !in_sample(sample_size))) return false;
    // When records come faster than the host takes them, nearly all accesses find the ring full, and to ask for its tail they would
    // queue up for one word of memory. So only some of them ask, chosen by chance, which keeps what is recorded a fair sample.
    if (__any_sync(lanes, !full || by_chance<4>())) return true;
    if ((lanes & lanes_below()) == 0) drop(state_of(state));
    return false;
}

}  // namespace
}  // namespace snoopie
