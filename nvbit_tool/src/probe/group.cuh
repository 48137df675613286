// The lanes that come here together, all of which touch memory that is not their own: they are lanes of one execution of the instruction,
// as nothing brings lanes of a warp together but what the compiler puts in for it.
#pragma once

#include "probe/lanes.cuh"
#include "probe/probe_logic.h"
#include "probe/state.cuh"

namespace snoopie {
namespace {

// What is known of an access: in registers, of which the upper half of the state's address takes one,
struct InRegisters {
    uint32_t state_;
    uint32_t site_word_;

    __device__ __forceinline__ uint64_t state_address() const { return state_at(state_); }
    __device__ __forceinline__ uint32_t site_word() const { return site_word_; }
};

// or in a frame.
template <class F>
struct InFrame {
    const F* frame_;

    __device__ __forceinline__ uint64_t state_address() const { return frame_->state_address(); }
    __device__ __forceinline__ uint32_t site_word() const { return frame_->words[F::kSiteWord]; }
};

template <class Known>
__device__ __forceinline__ Group<DeviceWarp> group_here(const Known& known, uint32_t site_word, uint64_t address, uint32_t* page_byte) {
    const LookingWarp<Known> warp{this_warp(), known};
    const auto group = group_of(warp, __activemask(), static_cast<unsigned long long>(address), page_byte, site_word);
    return {group.lanes, group.extra_units, group.dense};
}

}  // namespace
}  // namespace snoopie
