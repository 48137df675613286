// The functions injected before memory instructions. Nearly every access is local and must leave at once: one load from the page bytes.
//
// No __global__ in this file: ptxas refuses kernels with the options that injected functions need.
#include "probe_logic.h"
#include "tensor_map.h"

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

__device__ __forceinline__ uint64_t linear_block() {
    return blockIdx.x + static_cast<uint64_t>(gridDim.x) * (blockIdx.y + static_cast<uint64_t>(gridDim.y) * blockIdx.z);
}

// What is counted and recorded: of which site, in which launch, on whose memory.
struct Place {
    ProbeState* state;
    uint64_t launch;
    uint32_t site;
    uint8_t owner;  // slot
};

// By one lane. Returns how many accesses of this launch, site and owner came before.
__device__ __forceinline__ uint64_t count(const Place& place, uint64_t lanes, uint64_t sectors) {
    auto* counters = reinterpret_cast<unsigned long long*>(place.state->counters) + launch_site_zero(place.launch) +
                     counter_index(place.site, place.state->owners, place.owner);
    const unsigned long long ordinal = atomicAdd(counters + kAccesses, 1ull);
    atomicAdd(counters + kLanes, static_cast<unsigned long long>(lanes));
    atomicAdd(counters + kSectors, static_cast<unsigned long long>(sectors));
    return ordinal;
}

// The first unit of a record, by one lane, after any other units.
__device__ __forceinline__ void write_unit(const Place& place, uint64_t at, RecordShape shape, uint32_t mask, uint64_t base,
                                           int64_t stride) {
    ProbeState* state = place.state;
    const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    volatile uint64_t* record = state->ring + (at & (state->ring_units - 1)) * kWordsPerUnit;
    record[kWordTime] = time;
    record[kWordBase] = base;
    record[kWordStride] = static_cast<uint64_t>(stride);
    record[kWordBlock] = linear_block();
    record[kWordSiteMask] = static_cast<uint64_t>(place.site) << 32 | mask;
    record[kWordTags] = pack_tags({launch_slot(place.launch), place.owner, static_cast<uint8_t>(thread / 32), shape});
    __threadfence_system();
    record[kWordStamp] = at + 1;  // from here on the host may take it
}

__device__ __forceinline__ void write_record(const Place& place, const DeviceWarp& warp, uint32_t group, uint64_t address) {
    ProbeState* state = place.state;
    const Shape shape = shape_of(warp, group, static_cast<unsigned long long>(address));
    const uint32_t leader = lowest_lane(group);
    uint64_t at = 0;
    bool reserved = false;
    if (warp.lane == leader) reserved = reserve(state, shape.strided ? kUnitsStrided : kUnitsScattered, &at);
    if (!__shfl_sync(group, static_cast<int>(reserved), leader)) return;
    at = __shfl_sync(group, static_cast<unsigned long long>(at), leader);

    if (!shape.strided) {
        const uint64_t unit = (at + 1 + warp.lane / kWordsPerUnit) & (state->ring_units - 1);
        state->ring[unit * kWordsPerUnit + warp.lane % kWordsPerUnit] = address;
        __threadfence_system();
        __syncwarp(group);
    }
    if (warp.lane == leader)
        write_unit(place, at, shape.strided ? RecordShape::strided : RecordShape::scattered, group, shape.base, shape.stride);
}

// The lanes that arrive here together are the lanes of one execution of the instruction.
__device__ __forceinline__ DeviceWarp this_warp() {
    DeviceWarp warp;
    asm("mov.u32 %0, %%laneid;" : "=r"(warp.lane));
    return warp;
}

__device__ __forceinline__ bool measured(ProbeState* state, uint64_t launch) {
    if (launch == kLaunchUncounted) return false;
    if (launch_gpu(launch) != state->gpu) {
        atomicAdd(&state->misdirected, 1ull);
        return false;
    }
    if (!state->blocks) return true;
    return block_selected(*state->blocks, blockIdx.x, blockIdx.y, blockIdx.z, linear_block());
}

__device__ __forceinline__ uint32_t page_byte_of(const ProbeState* state, uint64_t address) {
    return address >> 47 == 0 ? reinterpret_cast<const uint8_t*>(state + 1)[address >> 21] : 0;
}

__device__ __forceinline__ void probe(int executes, uint64_t address, uint32_t site_word, uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const uint32_t arrived = __activemask();
    // Lanes with a false guard do not access.
    uint32_t page_byte = executes ? page_byte_of(state, address) : 0;
    uint32_t remaining = __ballot_sync(arrived, page_byte != 0);
    if (page_byte == 0 || !measured(state, launch)) return;

    const DeviceWarp warp = this_warp();
    // One turn per owner; nearly always there is one.
    while (remaining) {
        const uint32_t turn = __shfl_sync(remaining, page_byte, lowest_lane(remaining));
        const uint32_t group = __ballot_sync(remaining, page_byte == turn);
        if (page_byte == turn) {
            const uint32_t sectors = distinct_sectors(warp, group, static_cast<unsigned long long>(address));
            const uint32_t leader = lowest_lane(group);
            const Place place{state, launch, site_id(site_word), static_cast<uint8_t>(turn - 1)};
            unsigned long long ordinal = 0;
            if (warp.lane == leader) ordinal = count(place, count_bits(group), sectors);
            if (state->ring) {
                if (state->sample_size > 1) ordinal = __shfl_sync(group, ordinal, leader);
                if (sampled(ordinal, launch_slot(launch), place.site, state->sample_size)) write_record(place, warp, group, address);
            }
            return;
        }
        remaining &= ~group;
    }
}

// Bulk and tensor instructions are executed once by a warp, whatever lanes are active: the lowest one stands for it.
__device__ __forceinline__ bool stands_for_warp(int executes, const DeviceWarp& warp) {
    const uint32_t lanes = __ballot_sync(__activemask(), executes != 0);
    return lanes != 0 && executes && warp.lane == lowest_lane(lanes);
}

__device__ __forceinline__ void one_bulk(const Place& place, const DeviceWarp& warp, uint64_t lanes, uint64_t sectors, uint64_t base,
                                         uint64_t bytes) {
    const uint64_t ordinal = count(place, lanes, sectors);
    uint64_t at;
    if (place.state->ring && sampled(ordinal, launch_slot(place.launch), place.site, place.state->sample_size) &&
        reserve(place.state, kUnitsStrided, &at))
        write_unit(place, at, RecordShape::bulk, 1u << warp.lane, base, static_cast<int64_t>(bytes));
}

}  // namespace
}  // namespace snoopie

using namespace snoopie;

// The address as the two registers of a pair and an immediate: cheaper than NVBit's own address argument.
extern "C" __device__ __noinline__ void snoopie_probe_registers(int executes, uint32_t low, uint32_t high, int immediate,
                                                                uint32_t site_word, uint64_t state, uint64_t launch) {
    const uint64_t address = (static_cast<uint64_t>(high) << 32 | low) + static_cast<int64_t>(immediate);
    probe(executes, address, site_word, state, launch);
}

// The address as NVBit computes it, for every other form of operand.
extern "C" __device__ __noinline__ void snoopie_probe_address(int executes, uint64_t address, uint32_t site_word, uint64_t state,
                                                              uint64_t launch) {
    probe(executes, address, site_word, state, launch);
}

// A copy into shared memory of which a lane reads its source only if a predicate holds. Where it asks fewer bytes than the instruction
// copies, its address lies that many behind the source's.
extern "C" __device__ __noinline__ void snoopie_probe_source(int executes, int predicate, int negated, uint32_t low, uint32_t high,
                                                             int immediate, uint32_t site_word, uint64_t state, uint64_t launch) {
    const bool reads = (predicate != 0) != (negated != 0);
    const uint64_t address = (static_cast<uint64_t>(high) << 32 | low) + static_cast<int64_t>(immediate);
    probe(executes && reads, address & ~static_cast<uint64_t>(site_width(site_word) - 1), site_word, state, launch);
}

// A bulk copy of contiguous bytes: its size in units of 16 bytes is the low half of a register.
extern "C" __device__ __noinline__ void snoopie_probe_bulk(int executes, uint32_t low, uint32_t high, uint32_t size, uint32_t site_word,
                                                           uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const DeviceWarp warp = this_warp();
    if (!stands_for_warp(executes, warp)) return;
    uint64_t address = static_cast<uint64_t>(high) << 32 | low;
    const uint64_t end = address + (size & 0xffff) * kBulkUnit;
    if ((page_byte_of(state, address) | page_byte_of(state, end - 1)) == 0 || !measured(state, launch)) return;
    // A copy may run over the border of two pages of different owners.
    while (address < end) {
        const uint64_t border = ((address >> 21) + 1) << 21;
        const uint64_t stop = border < end && page_byte_of(state, address) != page_byte_of(state, border) ? border : end;
        const uint32_t page_byte = page_byte_of(state, address);
        if (page_byte)
            one_bulk({state, launch, site_id(site_word), static_cast<uint8_t>(page_byte - 1)}, warp, (stop - address) / kBulkUnit,
                     ((stop - 1) >> 5) - (address >> 5) + 1, address, stop - address);
        address = stop;
    }
}

// A tensor copy: the address of its tensor map and the coordinates of its box.
extern "C" __device__ __noinline__ void snoopie_probe_tensor(int executes, uint32_t low, uint32_t high, int c0, int c1, int c2, int c3,
                                                             int c4, uint32_t site_word, uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const DeviceWarp warp = this_warp();
    if (!stands_for_warp(executes, warp) || !measured(state, launch)) return;
    uint64_t words[kTensorWords];
    const auto* map_words = reinterpret_cast<const volatile uint64_t*>(static_cast<uint64_t>(high) << 32 | low);
    for (int i = 0; i < kTensorWords; ++i) words[i] = map_words[i];
    const TensorMap map = decode_tensor_map(words);
    const Place unknown{state, launch, site_id(site_word), static_cast<uint8_t>(state->unknown)};
    if (map.rank == 0) {
        count(unknown, 1, 0);
        return;
    }
    const int32_t start[kMaxRank] = {c0, c1, c2, c3, c4};
    const TensorBox box = tensor_box(map, start);
    const uint32_t first = page_byte_of(state, box.first);
    const uint32_t last = page_byte_of(state, box.last);
    if (box.bytes == 0 || (first | last) == 0) return;
    Place place = unknown;
    if (first == last) place.owner = static_cast<uint8_t>(first - 1);
    one_bulk(place, warp, box.bytes, box.sectors, box.first, box.bytes);
}

// An instruction whose addresses cannot be had: how often it runs.
extern "C" __device__ __noinline__ void snoopie_probe_executed(int executes, uint32_t site_word, uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const DeviceWarp warp = this_warp();
    const uint32_t lanes = __ballot_sync(__activemask(), executes != 0);
    if (lanes == 0 || warp.lane != lowest_lane(lanes) || !measured(state, launch)) return;
    count({state, launch, site_id(site_word), static_cast<uint8_t>(state->unknown)}, count_bits(lanes), 0);
}
