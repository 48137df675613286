// The probe of one access. Nearly every one is local and must leave at once: one load from the page bytes.
#pragma once

#include <type_traits>

#include "probe/kinds.cuh"

namespace snoopie {
namespace {

// One access. Lanes with a false guard do not access.
template <class Kind>
__device__ __forceinline__ void probe(int executes, uint64_t address, uint32_t site_word, uint64_t state, uint64_t launch) {
    // In the place of the state's lower half, which is 0: so it need not be kept.
    uint32_t low = static_cast<uint32_t>(state);
    const uint32_t high = static_cast<uint32_t>(state >> 32);
    asm volatile("or.b32 %0, %0, %1;" : "+r"(low) : "r"(page_of(address, executes != 0)));
    uint32_t page_byte = load_byte(static_cast<uint64_t>(high) << 32 | low);
    if (page_byte == 0) return;
    // It has to look at the state to know what to do.
    constexpr bool kSelects = !std::is_same_v<Kind, Counting> && !std::is_same_v<Kind, Recording>;
    if constexpr (!kSelects) {
        if (!counted(state_at(high), &launch)) return;
        // What has no record is counted from registers: there are enough.
        if (std::is_same_v<Kind, Counting> || !asks(state_at(high), __activemask())) {
            const Group<DeviceWarp> group = group_here(InRegisters{high, site_word}, site_word, address, &page_byte);
            if ((group.lanes & lanes_below()) == 0)
                count(Place{state_of(state_at(high)), launch, site_word, static_cast<uint8_t>(page_byte - 1)}, group);
            return;
        }
    }
    if constexpr (!std::is_same_v<Kind, Counting>) {
        Frame<Frame<1>::kOwnWords | 1> frame;
        // The compiler keeps a frame in registers if it is only ever looked up at places that it knows. No lane has the highest bit.
        frame.words[frame.kState - (lanes_below() >> 31)] = high;
        frame.put(frame.kLaunch, kSelects ? own_launch(high, launch) : launch);
        if constexpr (std::is_same_v<Kind, Recording>) {
            frame.keep_access(site_word, address, page_byte);
            Recording::count_group(frame);
            Recording::record(frame);
        } else {
            Kind::access(frame, site_word, address, page_byte);
        }
    }
}

}  // namespace
}  // namespace snoopie
