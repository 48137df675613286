// The probe of several accesses that share a call; see probe_abi.h for their description.
#pragma once

#include "probe/kinds.cuh"

namespace snoopie {
namespace {

// In the address of a description: the predicate that guards the pack holds; there is no other description.
constexpr uint32_t kGuard = 1, kEnds = 2;

// Several accesses of the same lanes, to P pairs of registers: low and high of each.
template <class Kind, int P>
__device__ __forceinline__ void probe_pack(uint64_t state, uint32_t word, int guard, uint64_t launch, const uint32_t (&pairs)[2 * P]) {
    // Whether any of these pages is foreign, or more than one page can be touched: without a branch, and not caring for what is no address.
    const uint32_t margin = packed_margin(word);
    uint32_t any = 0;
    uint32_t nearest = ~0u;
    uint32_t low = static_cast<uint32_t>(state);
    const uint32_t high = static_cast<uint32_t>(state >> 32);
    SNOOPIE_UNROLL
    for (int p = 0; p < P; ++p) {
        nearest = min(nearest, (pairs[2 * p] + margin) & ((1u << kPageBits) - 1));
        const uint32_t page = __funnelshift_r(pairs[2 * p], pairs[2 * p + 1], kPageBits);
        // In place, one after the other: several addresses at a time would take more registers than are free.
        asm volatile("lop3.b32 %0, %1, %2, %0, 0xE2;" : "+r"(low) : "r"(page), "n"(kPages - 1));
        any |= load_byte(static_cast<uint64_t>(high) << 32 | low);
    }
    if (any == 0 && nearest >= 2 * margin) return;
    // From here on all is kept in memory and not in registers: those would have to be saved before it is known whether they are needed.
    enum : int { kPairs = Frame<1>::kOwnWords };
    Frame<(kPairs + 2 * P) | 1> frame;
    SNOOPIE_UNROLL
    for (int i = 0; i < 2 * P; ++i) frame.words[kPairs + i] = pairs[i];
    frame.keep(state, own_launch(high, launch));
    frame.words[frame.kNext] = (kPacks + packed_place(word) * sizeof(uint32_t)) | (guard ? kGuard : 0);
    frame.words[frame.kLanes] = __activemask();
    SNOOPIE_ROLL
    do {
        const uint32_t next = frame.words[frame.kNext];
        uint32_t access, site_word;
        read_pair(frame.get(frame.kNext) & ~static_cast<uint64_t>(7), &access, &site_word);
        frame.words[frame.kNext] = (next + 2 * sizeof(uint32_t)) | (access & kPackedLast ? kEnds : 0);
        const uint64_t address =
            frame.get(kPairs + 2 * static_cast<int>(packed_pair(access))) + static_cast<int64_t>(packed_immediate(access));
        const uint32_t page_byte = page_byte_of(frame.state_address(), address, packed_executes(access, next & kGuard));
        if (page_byte) Kind::access(frame, site_word, address, page_byte);
        __syncwarp(frame.words[frame.kLanes]);
    } while (!(frame.words[frame.kNext] & kEnds));
}

}  // namespace
}  // namespace snoopie
