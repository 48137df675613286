// The probes of polling loops: at the branch that leaves the loop, which tells whether the value has come, and at the load, which has the
// address. A wait that finds its value at once costs a look at the warp's slot and writes nothing; no warp waits for another here.
#pragma once

#include "probe/bulk.cuh"
#include "probe/clocks.cuh"
#include "probe/counting.cuh"
#include "probe/grid.cuh"
#include "probe/lanes.cuh"
#include "probe/ring.cuh"
#include "probe/state.cuh"

namespace snoopie {
namespace {

// The slot of the warp that asks; null without one.
__device__ __forceinline__ volatile WaitSlot* own_wait(const ProbeState* state) {
    const uint32_t place = SNOOPIE_SPECIAL("smid") * kWarpsOfSm + SNOOPIE_SPECIAL("warpid");
    return state->waits && place < kWaitSlots ? state->waits + place : nullptr;
}

__device__ __forceinline__ void write_wait(ProbeState* state, volatile WaitSlot* wait, uint64_t end, bool given_up) {
    const uint64_t at = reserve(state, kUnitsStrided);
    if (at == kNoPlace) return add(reinterpret_cast<uint64_t>(&state->waits_dropped), 1);
    RecordHead head{};
    head.time = end;
    head.base = wait->address;
    head.stride = static_cast<int64_t>(end - wait->start);
    head.block = wait->block;
    head.site = wait_site_of(wait->key);
    head.mask = wait_mask(wait->polls, given_up);
    head.slot = wait_slot_of(wait->key);
    head.warp = wait_warp_of(wait->key);
    head.shape = RecordShape::wait;
    head.sm = sm_of_block();
    volatile uint64_t* unit = state->wait_ring + (static_cast<uint32_t>(at) & (state->ring_units - 1)) * kWordsPerUnit;
    const uint64_t stamp = lap_stamp(at, state->ring_log2);
    SNOOPIE_ROLL
    for (uint32_t word = 0; word < kHeadWords; ++word) unit[word] = head_word(head, word) | stamp;
}

// At a branch that leaves the loop of a poll.
__device__ __forceinline__ void wait_exit(int guard, int predicate, uint32_t flags, uint32_t site, uint64_t state_address,
                                          uint64_t launch) {
    const DeviceWarp warp = this_warp();
    const uint32_t lanes = __activemask();
    const bool waits = __ballot_sync(lanes, stays_in_loop(guard != 0, predicate != 0, flags)) != 0;
    if (warp.lane_ != lowest_lane(lanes) || !measured(state_address, &launch)) return;
    ProbeState* state = state_of(state_address);
    volatile WaitSlot* wait = own_wait(state);
    if (!wait) return;
    const uint64_t key = wait_key(launch_slot(launch), site, warp_of_block());
    const uint64_t block = linear_block();
    const bool known = wait->key == key && wait->block == block;
    if (!known && !waits) return;
    const uint64_t now = time_now();
    if (!waits) {
        write_wait(state, wait, now, false);
        wait->key = 0;
    } else if (known) {
        wait->last = now;
        wait->polls = wait->polls + 1;
    } else {
        // One that was left in another way, in this launch: of others the host has looked already.
        if (wait->key != 0 && wait_slot_of(wait->key) == launch_slot(launch)) write_wait(state, wait, wait->last, true);
        wait->key = 0;
        wait->block = block;
        wait->start = now;
        wait->last = now;
        wait->address = 0;
        wait->polls = 1;
        wait->key = key;
    }
}

// At the load of a poll. Of the lanes that still wait, the lowest tells for what.
__device__ __forceinline__ void wait_address(int executes, uint64_t address, uint32_t site, uint64_t state_address, uint64_t launch) {
    const DeviceWarp warp = this_warp();
    if (!stands_for_warp(executes, warp)) return;
    volatile WaitSlot* wait = own_wait(state_of(state_address));
    launch = own_launch(static_cast<uint32_t>(state_address >> 32), launch);
    if (!wait || wait->key != wait_key(launch_slot(launch), site, warp_of_block()) || wait->block != linear_block()) return;
    wait->address = address;
}

}  // namespace
}  // namespace snoopie
