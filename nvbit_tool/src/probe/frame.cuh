// What is kept of an access in memory and not in registers.
#pragma once

#include "probe/state.cuh"

namespace snoopie {
namespace {

// What is needed of an access once it is known to be foreign, in words of the stack: the compiler saves registers at the entry of a
// function for whatever path needs them, and nearly every call is of a local access, which needs none. `Words` is odd, because for an even
// number the compiler could align the stack, in every call.
template <int Words>
struct Frame {
    volatile uint32_t words[Words];

    __device__ __forceinline__ uint64_t get(int at) const { return static_cast<uint64_t>(words[at + 1]) << 32 | words[at]; }
    __device__ __forceinline__ void put(int at, uint64_t value) {
        words[at] = static_cast<uint32_t>(value);
        words[at + 1] = static_cast<uint32_t>(value >> 32);
    }
    __device__ __forceinline__ uint64_t state_address() const { return state_at(words[kState]); }
    __device__ __forceinline__ ProbeState* state() const { return state_of(state_address()); }
    __device__ __forceinline__ uint64_t launch() const { return get(kLaunch); }
    __device__ __forceinline__ void keep(uint64_t state, uint64_t launch) {
        words[kState] = static_cast<uint32_t>(state >> 32);
        put(kLaunch, launch);
    }
    __device__ __forceinline__ void keep_access(uint32_t site_word, uint64_t address, uint32_t page_byte) {
        put(kAddress, address);
        words[kSiteWord] = site_word;
        words[kPageByte] = page_byte;
    }

    // Places of the words; of two words, the first's. What lies at an odd place is stored word by word: two at once would have to come from
    // a pair of registers, of which there are too few. Other orders cost more stores at the entry (README.md).
    enum : int {
        kNext = 0,   // of a pack: the lower half of the address of the next description, and in its lowest bits what kGuard and kEnds say
        kState = 1,  // the upper half of its address: the lower one is 0
        kLaunch = 3,
        kLane = 5,
        kAddress = 6,
        kGroup = 8,
        kSiteWord,
        kPageByte,
        kStrided,
        kBase = 12,
        kStride = 14,
        kPlace = 16,
        kTime = 18,
        kTurn = 20,
        kLanes,  // of a pack
        kOwnWords = kLanes + 2
    };
};

}  // namespace
}  // namespace snoopie
