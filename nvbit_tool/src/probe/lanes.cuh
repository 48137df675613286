// The lanes of the real warp; see probe_logic.h.
#pragma once

#include "probe/probe_logic.h"
#include "probe/state.cuh"

namespace snoopie {
namespace {

__device__ __forceinline__ uint32_t lanes_below() {
    uint32_t lanes;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
    return lanes;
}

struct DeviceWarp {
    using U64 = unsigned long long;
    using U32 = uint32_t;

    uint32_t lane_;

    __device__ __forceinline__ U64 lane() const { return lane_; }

    __device__ __forceinline__ U32 lanes_below() const { return snoopie::lanes_below(); }

    __device__ __forceinline__ bool match_all(uint32_t group, U64 value) const {
        int all;
        __match_all_sync(group, value, &all);
        return all;
    }

    __device__ __forceinline__ U32 match_any(uint32_t group, U64 value) const { return __match_any_sync(group, value); }
    __device__ __forceinline__ U32 match_any(uint32_t group, U32 value) const { return __match_any_sync(group, value); }

    __device__ __forceinline__ U64 wide(U32 value) const { return value; }
    __device__ __forceinline__ U32 low(U64 value) const { return static_cast<U32>(value); }
    __device__ __forceinline__ U32 all(U32 value) const { return value; }
    __device__ __forceinline__ U32 one_if(bool value) const { return value; }
    __device__ __forceinline__ U32 count(U32 mask) const { return count_bits(mask); }
    __device__ __forceinline__ bool is_all(U32 value, uint32_t lanes) const { return value == lanes; }
    __device__ __forceinline__ U32 choose(bool condition, U32 one, U32 other) const { return condition ? one : other; }

    __device__ __forceinline__ uint32_t ballot(uint32_t group, bool value) const { return __ballot_sync(group, value); }

    __device__ __forceinline__ uint64_t broadcast(uint32_t group, U64 value, uint32_t from) const {
        return __shfl_sync(group, value, from);
    }

    __device__ __forceinline__ U64 ramp(uint64_t base, int64_t stride, uint32_t lowest) const {
        return base + static_cast<uint64_t>(stride) * (lane_ - lowest);
    }
};

// One that knows more of the access: of which site it is, and whose the pages are. `Known` is asked each time, so as not to keep it.
template <class Known>
struct LookingWarp : DeviceWarp {
    Known known_;

    __device__ __forceinline__ U32 owner_byte(U32 page_byte) const { return snoopie::owner_byte(known_.state_address(), page_byte); }

    __device__ __forceinline__ U32 large_units() const { return snoopie::large_units(known_.site_word()); }

    __device__ __forceinline__ U32 less_full(U32 units) const {
        // full_units by other instructions: of two equal ones the compiler would keep the first one's result, in a register.
        uint32_t large, log2_width;
        asm volatile("shr.s32 %0, %1, %2;" : "=r"(large) : "r"(known_.site_word()), "n"(kLargeUnits));
        asm volatile("shr.s32 %0, %1, %2;" : "=r"(log2_width) : "r"(known_.site_word()), "n"(kLargeUnits + 1));
        return units - (2u << log2_width >> (large & 1));
    }
};

__device__ __forceinline__ DeviceWarp this_warp() {
    DeviceWarp warp;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(warp.lane_));
    return warp;
}

}  // namespace
}  // namespace snoopie
