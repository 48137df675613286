// The record of an access that is in a frame, by the lanes of its group.
#pragma once

#include "probe/clocks.cuh"
#include "probe/frame.cuh"
#include "probe/grid.cuh"
#include "probe/lanes.cuh"
#include "probe/probe_logic.h"
#include "probe/ring.cuh"

namespace snoopie {
namespace {

// Whether this lane is the lowest of the group.
template <class F>
__device__ __forceinline__ bool is_first(const F& frame) {
    return lowest_lane(frame.words[F::kGroup]) == frame.words[F::kLane];
}

// The shape of the access of the frame's group, with every value in the frame as soon as it is known.
template <class F>
__device__ __forceinline__ void find_shape(F& frame) {
    if (frame.words[F::kStrided]) {
        const uint64_t width = site_width(frame.words[F::kSiteWord]);
        frame.put(F::kBase, frame.get(F::kAddress) - frame.words[F::kLane] * width);
        frame.put(F::kStride, width);
        return;
    }
    const DeviceWarp warp{frame.words[F::kLane]};
    frame.put(F::kBase, warp.broadcast(frame.words[F::kGroup], frame.get(F::kAddress), lowest_lane(frame.words[F::kGroup])));
    frame.put(F::kStride, 0);
    frame.words[F::kStrided] = 1;
    const uint32_t others = frame.words[F::kGroup] & (frame.words[F::kGroup] - 1);
    if (others == 0) return;
    frame.put(F::kPlace, warp.broadcast(frame.words[F::kGroup], frame.get(F::kAddress), lowest_lane(others)));
    const int32_t gap = lowest_lane(others) - lowest_lane(frame.words[F::kGroup]);
    const Stride stride = stride_of(static_cast<int64_t>(frame.get(F::kPlace) - frame.get(F::kBase)), gap);
    frame.put(F::kStride, static_cast<uint64_t>(stride.bytes));
    frame.words[F::kStrided] = stride.whole;
    const uint64_t expected =
        warp.ramp(frame.get(F::kBase), static_cast<int64_t>(frame.get(F::kStride)), lowest_lane(frame.words[F::kGroup]));
    if (warp.ballot(frame.words[F::kGroup], frame.get(F::kAddress) != expected)) frame.words[F::kStrided] = 0;
}

// A word of the record's head, by itself: together they would take more registers.
template <class F>
__device__ __forceinline__ uint64_t word_of_head(const F& frame, uint32_t word) {
    RecordHead head{};
    switch (word) {
        case 0:
            head.time = frame.get(F::kTime);
            return head_word(head, 0);
        case 1:
            head.base = frame.get(F::kBase);
            return head_word(head, 1);
        case 2:
            head.stride = static_cast<int64_t>(frame.get(F::kStride));
            return head_word(head, 2);
        case 3:
            head.block = linear_block();
            return head_word(head, 3);
        case 4:
            head.site = site_id(frame.words[F::kSiteWord]);
            head.slot = launch_slot(frame.launch());
            return head_word(head, 4);
        case 5:
            head.mask = frame.words[F::kGroup];
            head.owner = static_cast<uint8_t>(frame.words[F::kPageByte] - 1);
            head.warp = warp_of_block();
            return head_word(head, 5);
        default:
            head.time = frame.get(F::kTime);
            head.shape = frame.words[F::kStrided] ? RecordShape::strided : RecordShape::scattered;
            head.sm = sm_of_block();
            return head_word(head, 6);
    }
}

template <class F>
__device__ __forceinline__ void write_word(const F& frame, uint32_t unit, uint32_t word, uint64_t payload) {
    const uint64_t at = frame.get(F::kPlace) + unit;
    unit_of(frame.state(), at)[word] = payload | lap_stamp(at, frame.state()->ring_log2);
}

// Records the access of the frame, by the lanes of its group.
template <class F>
__device__ __forceinline__ void record_access(F& frame) {
    find_shape(frame);
    frame.put(F::kTime, time_now());
    frame.put(F::kPlace, kNoPlace);
    if (is_first(frame)) {
        frame.put(F::kPlace, reserve(frame.state(), frame.words[F::kStrided] ? kUnitsStrided : kUnitsScattered));
        if (frame.get(F::kPlace) == kNoPlace) drop(frame.state());
    }
    frame.put(F::kPlace, DeviceWarp{}.broadcast(frame.words[F::kGroup], frame.get(F::kPlace), lowest_lane(frame.words[F::kGroup])));
    // A lane writes every so many words: none without a place.
    const auto rank = [&] {
        return frame.get(F::kPlace) == kNoPlace ? 32 : count_bits(frame.words[F::kGroup] & ((1u << frame.words[F::kLane]) - 1));
    };
    frame.words[F::kTurn] = rank();
    SNOOPIE_ROLL
    while (frame.words[F::kTurn] < kHeadWords) {
        write_word(frame, 0, frame.words[F::kTurn], word_of_head(frame, frame.words[F::kTurn]));
        frame.words[F::kTurn] = frame.words[F::kTurn] + count_bits(frame.words[F::kGroup]);
    }
    frame.words[F::kTurn] = frame.words[F::kStrided] ? 32 : rank();
    if (frame.words[F::kTurn] < 32)
        write_word(frame, 1 + frame.words[F::kLane] / kWordsPerUnit, frame.words[F::kLane] % kWordsPerUnit, frame.get(F::kAddress));
    // Words of lanes that are not in the group have to be written as well.
    SNOOPIE_ROLL
    while (frame.words[F::kTurn] < 32) {
        const uint32_t lane = frame.words[F::kTurn];
        if (!(frame.words[F::kGroup] >> lane & 1)) write_word(frame, 1 + lane / kWordsPerUnit, lane % kWordsPerUnit, 0);
        frame.words[F::kTurn] = lane + count_bits(frame.words[F::kGroup]);
    }
}

}  // namespace
}  // namespace snoopie
