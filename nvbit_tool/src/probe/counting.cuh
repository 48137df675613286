// The counters of a launch.
#pragma once

#include <cstddef>

#include "probe/clocks.cuh"
#include "probe/global_memory.cuh"
#include "probe/grid.cuh"
#include "probe/lanes.cuh"
#include "probe/probe_logic.h"
#include "probe/state.cuh"

namespace snoopie {
namespace {

// The launch's own value, where the kernel has that of a cell. `high`: the upper half of the state's address.
__device__ __forceinline__ uint64_t own_launch(uint32_t high, uint64_t launch) {
    if (is_launch_cell(launch))
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(launch) : "l"(static_cast<uint64_t>(high) << 32 | static_cast<uint32_t>(launch)));
    return launch;
}

// Whether the launch is this GPU's, and counted.
__device__ __forceinline__ bool counted(uint64_t state_address, uint64_t launch) {
    const ProbeState* state = state_of(state_address);
    const uint32_t mark = launch_mark(launch);
    if (mark == state->mark) return true;
    if (is_launch(mark)) add(state_address + offsetof(ProbeState, misdirected), 1);
    return false;
}

// The same where the kernel may have the value of a cell: *launch becomes the launch's own. It is looked for last, as few kernels do.
__device__ __forceinline__ bool counted(uint64_t state_address, uint64_t* launch) {
    if (launch_mark(*launch) != state_of(state_address)->mark) *launch = own_launch(static_cast<uint32_t>(state_address >> 32), *launch);
    return counted(state_address, *launch);
}

__device__ __forceinline__ bool measured(uint64_t state_address, uint64_t* launch) {
    const auto* state = reinterpret_cast<const ProbeState*>(state_address);
    return counted(state_address, launch) && (!state->blocks || in_selected_block(state->blocks));
}

// What is counted and recorded: of which site, in which launch, on whose memory.
struct Place {
    ProbeState* state;
    uint64_t launch;
    uint32_t site_word;
    uint8_t owner;  // a slot of the owner's

    static constexpr bool kTimed = false;
};

// With WAITS=on: also when.
struct TimedPlace : Place {
    static constexpr bool kTimed = true;
};

__device__ __forceinline__ uint64_t address_of_cell(const ProbeState* state, uint32_t cell) {
    return reinterpret_cast<uint64_t>(state->counters) + static_cast<uint64_t>(cell) * (kCounters * sizeof(uint64_t));
}

template <class P>
__device__ __forceinline__ uint64_t counters_of(const P& place) {
    const uint32_t slots = launch_slots(place.launch, place.state->owners);
    uint32_t cells = slots, bank = 0;
    if constexpr (P::kTimed)
        cells += time_cells(launch_slot(place.launch));
    else
        bank = sm_of_block() % kBanks * bank_cells(launch_slot(place.launch));
    // Before the slot is looked for: in the other order the launch takes one register more.
    const uint32_t first = cell_of(place.launch, site_id(place.site_word), cells, bank);
    uint32_t slot = place.owner;
    if (slot >= slots) slot = owner_byte(reinterpret_cast<uint64_t>(place.state), slot + 1) - 1;
    return address_of_cell(place.state, first + slot);
}

// An instruction of `lanes` lanes, by one of them, that touches `extra` wire units more than full_units. Nearly all are of full warps side
// by side, and add to one counter.
template <class P>
__device__ __forceinline__ void add_counts(const P& place, uint64_t lanes, int64_t extra) {
    const uint64_t counters = counters_of(place);
    add(counters + kAccesses * sizeof(uint64_t), 1);
    const uint64_t missing = 32 - lanes;
    if (missing) add(counters + kMissingLanes * sizeof(uint64_t), missing);
    if (extra) add(counters + kExtraUnits * sizeof(uint64_t), static_cast<uint64_t>(extra));
}

__device__ __forceinline__ void note_time(const Place& place) {
    const uint32_t slots = launch_slots(place.launch, place.state->owners);
    const uint32_t cells = time_cells(launch_slot(place.launch));
    const uint32_t own = time_cell_of(linear_block(), blocks_of_grid(), cells);
    const uint64_t moments = address_of_cell(place.state, cell_of(place.launch, site_id(place.site_word), slots + cells, slots + own));
    const uint64_t now = time_now();
    raise_to(moments + kFirstTime * sizeof(uint64_t), ~now);
    raise_to(moments + kLastTime * sizeof(uint64_t), now);
    add(moments + kTimedAccesses * sizeof(uint64_t), 1);
}

// An access to foreign memory.
template <class P>
__device__ __forceinline__ void count(const P& place, uint64_t lanes, int64_t extra) {
    add_counts(place, lanes, extra);
    if constexpr (P::kTimed) note_time(place);
}

// One of which no unit is known.
template <class P>
__device__ __forceinline__ void count_executed(const P& place, uint64_t lanes) {
    add_counts(place, lanes, -static_cast<int64_t>(full_units(place.site_word)));
}

// By the lane that stands for its group.
template <class P>
__device__ __forceinline__ void count(const P& place, const Group<DeviceWarp>& group) {
    count(place, count_bits(group.lanes), static_cast<int32_t>(group.extra_units));
}

}  // namespace
}  // namespace snoopie
