// What a probe computes about one access, written once for a warp of the GPU and for the simulated warp of the host-side tests. A Warp has
// the lanes' values as `Warp::U64` and the collectives used here; `group` is always the mask of lanes that take part.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"

namespace snoopie {

SNOOPIE_BOTH uint32_t lowest_bit(uint32_t mask) { return mask & (0u - mask); }

SNOOPIE_BOTH uint32_t count_bits(uint32_t mask) {
#ifdef __CUDA_ARCH__
    return __popc(mask);
#else
    return static_cast<uint32_t>(__builtin_popcount(mask));
#endif
}

// `mask` is not 0.
SNOOPIE_BOTH uint32_t lowest_lane(uint32_t mask) {
#ifdef __CUDA_ARCH__
    return __ffs(mask) - 1;
#else
    return static_cast<uint32_t>(__builtin_ctz(mask));
#endif
}

// What each lane knows of an access: the lanes that touch the same owner's memory as it does, and how many more wire units than full_units
// these touch, modulo 2^32. (An address is a multiple of the width, which is no larger than a unit, so a lane touches one.)
template <class Warp>
struct Group {
    typename Warp::U32 lanes;
    typename Warp::U32 extra_units;
    bool dense;  // all lanes of the warp, side by side
};

// Of the `lanes` that take part, with the page byte of each. What of an access touches one owner's memory is divided by object only as a
// whole: where it touches several, the page byte becomes the owner's. Without loops and with few values, so that the probe needs no stack:
// that would cost every access that is local.
template <class Warp>
SNOOPIE_BOTH Group<Warp> group_of(const Warp& warp, uint32_t lanes, typename Warp::U64 address, typename Warp::U32* page_byte,
                                  uint32_t site_word) {
    // Where lane 0 would be: if all are side by side, the same for all. No address has bits where the page byte goes.
    const auto start = address - warp.lane() * site_width(site_word);
    const bool dense = warp.match_all(lanes, start ^ warp.wide(*page_byte) << 56);
    if (dense && lanes == ~0u)
        return {warp.all(lanes), warp.one_if((warp.low(start) & ((kWriteUnit - 1) | warp.large_units() << kLog2WriteUnit)) != 0), true};
    // The lowest lane of each unit; all lanes of one are of one page. The halves of a large unit are made one.
    const auto unit = address >> kLog2WriteUnit | warp.large_units();
    const uint32_t units = warp.ballot(lanes, (warp.match_any(lanes, unit) & warp.lanes_below()) == 0);
    auto group = warp.match_any(lanes, *page_byte);
    if (!warp.is_all(group, lanes)) {
        const auto owner = warp.owner_byte(*page_byte);
        const auto of_owner = warp.match_any(lanes, owner);
        *page_byte = warp.choose(of_owner != group, owner, *page_byte);
        group = of_owner;
    }
    return {group, warp.less_full(warp.count(warp.all(units) & group)), false};
}

struct Shape {
    uint64_t base;
    int64_t stride;
    bool strided;  // every lane i of the group is at base + stride * (i - lowest lane)
};

// The stride of lanes of which two that are `gap` lanes apart are `distance` bytes apart.
struct Stride {
    int64_t bytes;
    uint32_t whole;  // 1 or 0: a bool would be half a register, and need another
};
SNOOPIE_BOTH Stride stride_of(int64_t distance, int32_t gap) {
    // 32-bit division: a 64-bit one is a function call on the GPU. A larger stride counts as scattered unless the lanes are neighbours.
    if (gap == 1) return {distance, 1};
    const auto near = static_cast<int32_t>(distance);
    const int32_t bytes = near / gap;
    return {bytes, near == distance && bytes * gap == near ? 1u : 0u};
}

template <class Warp>
SNOOPIE_BOTH Shape shape_of(const Warp& warp, uint32_t group, typename Warp::U64 address) {
    const uint32_t lowest = lowest_lane(group);
    const uint64_t base = warp.broadcast(group, address, lowest);
    const uint32_t others = group & (group - 1);
    if (others == 0) return {base, 0, true};
    const uint32_t second = lowest_lane(others);
    const Stride stride =
        stride_of(static_cast<int64_t>(warp.broadcast(group, address, second) - base), static_cast<int32_t>(second - lowest));
    return {base, stride.bytes, stride.whole && warp.ballot(group, address != warp.ramp(base, stride.bytes, lowest)) == 0};
}

// One in `sample_size`, by a hash of two numbers that tell an access from others. With 32 bits: wider products take registers.
SNOOPIE_BOTH bool sampled(uint32_t one, uint32_t other, uint32_t sample_size) {
    uint32_t h = one + other * 0x9E3779B1u;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    h ^= h >> 16;
    return static_cast<uint64_t>(h) * sample_size >> 32 == 0;
}

// Whether a block is to be measured.
SNOOPIE_BOTH bool place_selected(const BlockFilter& filter, uint32_t axis, uint64_t place) {
    const uint32_t count = filter.counts[axis];
    SNOOPIE_ROLL
    for (uint32_t i = 0; i < count; ++i)
        if (filter.ranges[axis][i].first <= place && place <= filter.ranges[axis][i].last) return true;
    return count == 0;
}

SNOOPIE_BOTH bool block_selected(const BlockFilter& filter, uint32_t x, uint32_t y, uint32_t z, uint64_t linear) {
    if (filter.shape == BlockFilter::kLinear) return place_selected(filter, 0, linear);
    return place_selected(filter, 0, x) && place_selected(filter, 1, y) && place_selected(filter, 2, z);
}

}  // namespace snoopie
