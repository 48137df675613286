// Bulk and tensor copies, which a warp executes once whatever lanes are active, and instructions whose addresses cannot be had.
#pragma once

#include "probe/counting.cuh"
#include "probe/grid.cuh"
#include "probe/lanes.cuh"
#include "probe/ring.cuh"
#include "probe/sampling.cuh"
#include "probe/state.cuh"
#include "probe/tensor_map.h"

namespace snoopie {
namespace {

// The lowest lane stands for the warp.
__device__ __forceinline__ bool stands_for_warp(int executes, const DeviceWarp& warp) {
    const uint32_t lanes = __ballot_sync(__activemask(), executes != 0);
    return lanes != 0 && executes && warp.lane_ == lowest_lane(lanes);
}

// What a record says of the access, but for its shape.
__device__ __forceinline__ RecordHead head_of_record(const Place& place, uint32_t mask) {
    RecordHead head{};
    head.time = time_now();
    head.block = linear_block();
    head.site = site_id(place.site_word);
    head.mask = mask;
    head.slot = launch_slot(place.launch);
    head.owner = place.owner;
    head.warp = warp_of_block();
    head.sm = sm_of_block();
    return head;
}

template <class P>
__device__ __forceinline__ void one_bulk(const P& place, const DeviceWarp& warp, uint64_t lanes, uint64_t units, uint64_t base,
                                         uint64_t bytes) {
    count(place, lanes, static_cast<int64_t>(units - full_units(place.site_word)));
    if (!place.state->ring || !in_sample(place.state->sample_size)) return;
    const uint64_t at = reserve(place.state, kUnitsStrided);
    if (at == kNoPlace) return drop(place.state);
    RecordHead head = head_of_record(place, 1u << warp.lane_);
    head.base = base;
    head.stride = static_cast<int64_t>(bytes);
    head.shape = RecordShape::bulk;
    write_head(place.state, at, head);
}

// A bulk copy of contiguous bytes: its size in units of 16 bytes is the low half of a register.
template <class P>
__device__ __forceinline__ void bulk_copy(int executes, uint32_t low, uint32_t high, uint32_t size, uint32_t site_word, uint64_t state,
                                          uint64_t launch) {
    auto* memory = reinterpret_cast<ProbeState*>(state);
    const DeviceWarp warp = this_warp();
    if (!stands_for_warp(executes, warp)) return;
    uint64_t address = static_cast<uint64_t>(high) << 32 | low;
    const uint64_t end = address + (size & 0xffff) * kBulkUnit;
    if ((page_byte_of(state, address) | page_byte_of(state, end - 1)) == 0 || !measured(state, &launch)) return;
    const uint32_t log2_unit = log2_of_unit(site_word);
    // A copy may run over the border of two pages: of different owners, or of objects of one.
    while (address < end) {
        const uint64_t border = ((address >> 21) + 1) << 21;
        uint64_t stop = end;
        uint32_t page_byte = page_byte_of(state, address);
        if (border < end && page_byte != page_byte_of(state, border)) {
            const uint32_t owner = owner_byte(state, page_byte);
            if (owner == owner_byte(state, page_byte_of(state, border)))
                page_byte = owner;
            else
                stop = border;
        }
        if (page_byte)
            one_bulk(P{memory, launch, site_word, static_cast<uint8_t>(page_byte - 1)}, warp, (stop - address) / kBulkUnit,
                     ((stop - 1) >> log2_unit) - (address >> log2_unit) + 1, address, stop - address);
        address = stop;
    }
}

// A tensor copy: the address of its tensor map and the coordinates of its box.
template <class P>
__device__ __forceinline__ void tensor_copy(int executes, uint32_t low, uint32_t high, int c0, int c1, int c2, int c3, int c4,
                                            uint32_t site_word, uint64_t state, uint64_t launch) {
    auto* memory = reinterpret_cast<ProbeState*>(state);
    const DeviceWarp warp = this_warp();
    if (!stands_for_warp(executes, warp) || !measured(state, &launch)) return;
    uint64_t words[kTensorWords];
    const auto* map_words = reinterpret_cast<const volatile uint64_t*>(static_cast<uint64_t>(high) << 32 | low);
    for (int i = 0; i < kTensorWords; ++i) words[i] = map_words[i];
    const TensorMap map = decode_tensor_map(words);
    const P unknown{memory, launch, site_word, static_cast<uint8_t>(memory->unknown)};
    if (map.rank == 0) {
        count_executed(unknown, 1);
        return;
    }
    const int32_t start[kMaxRank] = {c0, c1, c2, c3, c4};
    const TensorBox box = tensor_box(map, start, log2_of_unit(site_word));
    const uint32_t first = page_byte_of(state, box.first);
    const uint32_t last = page_byte_of(state, box.last);
    if (box.bytes == 0 || (first | last) == 0) return;
    P place = unknown;
    const uint32_t owner = first == last ? first : owner_byte(state, first);
    if (first == last || owner == owner_byte(state, last)) place.owner = static_cast<uint8_t>(owner - 1);
    one_bulk(place, warp, box.bytes, box.units, box.first, box.bytes);
}

// An instruction whose addresses cannot be had: how often it runs.
template <class P>
__device__ __forceinline__ void executed(int executes, uint32_t site_word, uint64_t state, uint64_t launch) {
    auto* memory = reinterpret_cast<ProbeState*>(state);
    const DeviceWarp warp = this_warp();
    const uint32_t lanes = __ballot_sync(__activemask(), executes != 0);
    if (lanes == 0 || warp.lane_ != lowest_lane(lanes) || !measured(state, &launch)) return;
    count_executed(P{memory, launch, site_word, static_cast<uint8_t>(memory->unknown)}, count_bits(lanes));
}

}  // namespace
}  // namespace snoopie
