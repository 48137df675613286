// What a probe does about an access to foreign memory. The frame has the state and the launch; what else goes there is a matter of what
// costs less: words written to the stack, or registers that every call saves.
#pragma once

#include "probe/counting.cuh"
#include "probe/frame.cuh"
#include "probe/grid.cuh"
#include "probe/group.cuh"
#include "probe/recording.cuh"
#include "probe/sampling.cuh"

namespace snoopie {
namespace {

template <class F>
__device__ __forceinline__ bool counted(const F& frame) {
    return counted(frame.state_address(), frame.launch());
}

template <class P>
struct CountingOf {
    template <class F>
    __device__ __forceinline__ static void access(F& frame, uint32_t site_word, uint64_t address, uint32_t page_byte) {
        if (!counted(frame)) return;
        frame.words[F::kSiteWord] = site_word;
        const Group<DeviceWarp> group = group_here(InFrame<F>{&frame}, site_word, address, &page_byte);
        if ((group.lanes & lanes_below()) == 0)
            count(P{frame.state(), frame.launch(), site_word, static_cast<uint8_t>(page_byte - 1)}, group);
    }
};

template <class P>
struct RecordingOf {
    template <class F>
    __device__ __forceinline__ static void access(F& frame, uint32_t site_word, uint64_t address, uint32_t page_byte) {
        frame.keep_access(site_word, address, page_byte);
        if (!counted(frame)) return;
        count_group(frame);
        if (asks(frame.state_address(), frame.words[F::kGroup])) record(frame);
    }

    // Of an access that is in the frame, and counted.
    template <class F>
    __device__ __forceinline__ static void count_group(F& frame) {
        uint32_t owner_or_object = frame.words[F::kPageByte];
        const Group<DeviceWarp> group = group_here(InFrame<F>{&frame}, frame.words[F::kSiteWord], frame.get(F::kAddress), &owner_or_object);
        frame.words[F::kGroup] = group.lanes;
        frame.words[F::kStrided] = group.dense;
        if (!group.dense) frame.words[F::kPageByte] = owner_or_object;
        if ((frame.words[F::kGroup] & lanes_below()) == 0)
            count(P{frame.state(), frame.launch(), frame.words[F::kSiteWord], static_cast<uint8_t>(frame.words[F::kPageByte] - 1)}, group);
    }

    template <class F>
    __device__ __forceinline__ static void record(F& frame) {
        frame.words[F::kLane] = this_warp().lane_;
        record_access(frame);
    }
};

// As the others, in the selected blocks only.
template <class P>
struct SelectingOf {
    template <class F>
    __device__ __forceinline__ static void access(F& frame, uint32_t site_word, uint64_t address, uint32_t page_byte) {
        const BlockFilter* blocks = frame.state()->blocks;
        if (blocks && !in_selected_block(blocks)) return;
        if (frame.state()->ring)
            RecordingOf<P>::access(frame, site_word, address, page_byte);
        else
            CountingOf<P>::access(frame, site_word, address, page_byte);
    }
};

using Counting = CountingOf<Place>;
using Recording = RecordingOf<Place>;
using Selecting = SelectingOf<Place>;
// As these, and notes when.
using Timing = SelectingOf<TimedPlace>;

}  // namespace
}  // namespace snoopie
