// The functions injected before memory instructions. Nearly every access is local and must leave at once: one load from the page bytes.
//
// No __global__ in this file: ptxas refuses kernels with the options that injected functions need.
#include "probe_logic.h"

namespace snoopie {
namespace {

// The lanes of the real warp; see probe_logic.h.
struct DeviceWarp {
    using U64 = unsigned long long;

    uint32_t lane;

    __device__ __forceinline__ uint32_t ballot(uint32_t group, bool value) const { return __ballot_sync(group, value); }

    __device__ __forceinline__ uint64_t broadcast(uint32_t group, U64 value, uint32_t from) const {
        return __shfl_sync(group, value, from);
    }

    __device__ __forceinline__ U64 previous(uint32_t group, U64 value) const {
        const uint32_t below = group & ((1u << lane) - 1);
        return __shfl_sync(group, value, below ? 31 - __clz(below) : lane);
    }

    __device__ __forceinline__ uint32_t first_of_each(uint32_t group, U64 value) const {
        const uint32_t same = __match_any_sync(group, value);
        return __ballot_sync(group, lowest_lane(same) == lane);
    }

    __device__ __forceinline__ U64 ramp(uint64_t base, int64_t stride, uint32_t lowest) const {
        return base + static_cast<uint64_t>(stride) * (lane - lowest);
    }
};

__device__ __forceinline__ uint64_t load_host(const volatile uint64_t* address) { return *address; }

// Reserves `units` in the ring; false if it is too full. See probe_abi.h for why no reservation passes the head.
__device__ __forceinline__ bool reserve(ProbeState* state, uint32_t units, uint64_t* place) {
    const uint64_t limit = state->ring_units - state->ring_slack;
    volatile unsigned long long* tail = &state->tail;
    volatile unsigned long long* head_seen = &state->head_seen;
    if (*tail - *head_seen >= limit) {
        const uint64_t head = load_host(state->ring_head);
        atomicMax(&state->head_seen, head);
        if (*tail - head >= limit) {
            atomicAdd(&state->dropped, 1ull);
            return false;
        }
    }
    *place = atomicAdd(&state->tail, static_cast<unsigned long long>(units));
    return true;
}

__device__ __forceinline__ void write_record(ProbeState* state, const DeviceWarp& warp, uint32_t group, uint64_t address, uint32_t site,
                                             uint16_t slot, uint8_t owner) {
    const Shape shape = shape_of(warp, group, static_cast<unsigned long long>(address));
    const uint32_t leader = lowest_lane(group);
    uint64_t place = 0;
    bool reserved = false;
    if (warp.lane == leader) reserved = reserve(state, shape.strided ? kUnitsStrided : kUnitsScattered, &place);
    if (!__shfl_sync(group, static_cast<int>(reserved), leader)) return;
    place = __shfl_sync(group, static_cast<unsigned long long>(place), leader);

    const uint64_t unit_mask = state->ring_units - 1;
    if (!shape.strided) {
        const uint64_t unit = (place + 1 + warp.lane / kWordsPerUnit) & unit_mask;
        state->ring[unit * kWordsPerUnit + warp.lane % kWordsPerUnit] = address;
        __threadfence_system();
        __syncwarp(group);
    }
    if (warp.lane != leader) return;

    const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const uint64_t block = blockIdx.x + static_cast<uint64_t>(gridDim.x) * (blockIdx.y + static_cast<uint64_t>(gridDim.y) * blockIdx.z);
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    const uint64_t tags = pack_tags({slot, owner, static_cast<uint8_t>(thread / 32), !shape.strided});
    volatile uint64_t* record = state->ring + (place & unit_mask) * kWordsPerUnit;
    record[kWordTime] = time;
    record[kWordBase] = shape.base;
    record[kWordStride] = static_cast<uint64_t>(shape.stride);
    record[kWordBlock] = block;
    record[kWordSiteMask] = static_cast<uint64_t>(site) << 32 | group;
    record[kWordTags] = tags;
    __threadfence_system();
    record[kWordStamp] = place + 1;  // from here on the host may take it
}

__device__ __forceinline__ void probe(int executes, uint64_t address, uint32_t site_word, uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const auto* pages = reinterpret_cast<const uint8_t*>(state + 1);
    // All lanes that arrive here together are the lanes of one execution of the instruction; those with a false guard do not access.
    const uint32_t arrived = __activemask();
    uint32_t page_byte = 0;
    if (executes && address >> 47 == 0) page_byte = pages[address >> 21];
    if (launch == kLaunchUncounted) page_byte = 0;
    uint32_t remaining = __ballot_sync(arrived, page_byte != 0);
    if (page_byte == 0) return;

    DeviceWarp warp;
    asm("mov.u32 %0, %%laneid;" : "=r"(warp.lane));
    const uint32_t site = site_id(site_word);
    // One turn per owner; nearly always there is one.
    while (remaining) {
        const uint32_t turn = __shfl_sync(remaining, page_byte, lowest_lane(remaining));
        const uint32_t group = __ballot_sync(remaining, page_byte == turn);
        if (page_byte == turn) {
            const uint32_t sectors = distinct_sectors(warp, group, static_cast<unsigned long long>(address));
            const uint32_t leader = lowest_lane(group);
            const uint8_t owner = static_cast<uint8_t>(turn - 1);
            unsigned long long* counters = reinterpret_cast<unsigned long long*>(state->counters) + launch_site_zero(launch) +
                                           counter_index(site, state->owners, owner);
            unsigned long long ordinal = 0;
            if (warp.lane == leader) {
                ordinal = atomicAdd(counters + kAccesses, 1ull);
                atomicAdd(counters + kLanes, static_cast<unsigned long long>(count_bits(group)));
                atomicAdd(counters + kSectors, static_cast<unsigned long long>(sectors));
            }
            if (state->ring) {
                if (state->sample_size > 1) ordinal = __shfl_sync(group, ordinal, leader);
                if (sampled(ordinal, launch_slot(launch), site, state->sample_size))
                    write_record(state, warp, group, address, site, launch_slot(launch), owner);
            }
            return;
        }
        remaining &= ~group;
    }
}

}  // namespace
}  // namespace snoopie

// The address as the two registers of a pair and an immediate: cheaper than NVBit's own address argument.
extern "C" __device__ __noinline__ void snoopie_probe_registers(int executes, uint32_t low, uint32_t high, int immediate,
                                                                uint32_t site_word, uint64_t state, uint64_t launch) {
    const uint64_t address = (static_cast<uint64_t>(high) << 32 | low) + static_cast<int64_t>(immediate);
    snoopie::probe(executes, address, site_word, state, launch);
}

// The address as NVBit computes it, for every other form of operand.
extern "C" __device__ __noinline__ void snoopie_probe_address(int executes, uint64_t address, uint32_t site_word, uint64_t state,
                                                              uint64_t launch) {
    snoopie::probe(executes, address, site_word, state, launch);
}
