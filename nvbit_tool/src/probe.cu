// The functions injected before memory instructions. Nearly every access is local and must leave at once: one load from the page bytes.
//
// No __global__ in this file: ptxas refuses kernels with the options that injected functions need.
#include <cstddef>

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
    uint32_t site_word;
    uint8_t owner;  // slot
};

__device__ __forceinline__ uint64_t counters_of(const Place& place) {
    const int64_t counter = launch_site_zero(place.launch) + counter_index(site_id(place.site_word), place.state->owners, place.owner);
    return reinterpret_cast<uint64_t>(place.state->counters) + static_cast<uint64_t>(counter) * sizeof(uint64_t);
}

// Global memory for sure: of a generic address the compiler provides for shared memory as well.
__device__ __forceinline__ void add(uint64_t address, uint64_t value) {
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

// An access of `lanes` lanes, by one of them. Nearly all accesses are of full warps side by side, and add to one counter.
__device__ __forceinline__ void add_lanes(const Place& place, uint64_t counters, uint64_t lanes, uint64_t sectors) {
    const uint64_t missing = 32 - lanes;
    const uint64_t extra = sectors - site_width(place.site_word);
    if (missing) add(counters + kMissingLanes * sizeof(uint64_t), missing);
    if (extra) add(counters + kExtraSectors * sizeof(uint64_t), extra);
}

// The same. Returns how many accesses of this launch, site and owner came before.
__device__ __forceinline__ uint64_t count(const Place& place, uint64_t lanes, uint64_t sectors) {
    const uint64_t counters = counters_of(place);
    add_lanes(place, counters, lanes, sectors);
    uint64_t ordinal;
    asm volatile("atom.global.add.u64 %0, [%1], 1;" : "=l"(ordinal) : "l"(counters + kAccesses * sizeof(uint64_t)) : "memory");
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
    record[kWordSiteMask] = static_cast<uint64_t>(site_id(place.site_word)) << 32 | mask;
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

__device__ __forceinline__ DeviceWarp this_warp() {
    DeviceWarp warp;
    asm("mov.u32 %0, %%laneid;" : "=r"(warp.lane));
    return warp;
}

__device__ __forceinline__ uint32_t lanes_below() {
    uint32_t lanes;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
    return lanes;
}

__device__ __forceinline__ bool counted(uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const uint32_t mark = launch_mark(launch);
    if (mark == state->mark) return true;
    if (is_launch(mark)) add(state_address + offsetof(ProbeState, misdirected), 1);
    return false;
}

__device__ __forceinline__ bool measured(uint64_t state_address, uint64_t launch) {
    const auto* state = reinterpret_cast<const ProbeState*>(state_address);
    return counted(state_address, launch) &&
           (!state->blocks || block_selected(*state->blocks, blockIdx.x, blockIdx.y, blockIdx.z, linear_block()));
}

__device__ __forceinline__ uint32_t page_byte_of(uint64_t state_address, uint64_t address, bool executes = true) {
    // Nothing is known of the first page: what is no address reads its byte, which takes no branch.
    const uint32_t page = executes && address >> 47 == 0 ? static_cast<uint32_t>(address >> 21) : 0;
    uint32_t byte;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(byte) : "l"(state_address + sizeof(ProbeState) + page));
    return byte;
}

// --- An access by the lanes that come here together, all of which touch memory that is not their own ---
// They are lanes of one execution of the instruction: nothing brings lanes of a warp together but what the compiler puts in for it.

// Counts it. Without loops and with few values, so that the probe needs no stack: that would cost every access that is local.
__device__ __forceinline__ void count_access(uint64_t state_address, uint64_t launch, uint32_t site_word, uint64_t address,
                                             uint32_t page_byte) {
    const uint32_t lanes = __activemask();
    if (!counted(state_address, launch)) return;
    // Where lane 0 would be, if all are side by side: the same for all lanes then.
    const uint64_t start = address - static_cast<uint64_t>(this_warp().lane) * site_width(site_word);
    int dense;
    __match_all_sync(lanes, start ^ static_cast<uint64_t>(page_byte) << 56, &dense);
    uint32_t group = lanes;
    uint32_t sectors;
    if (dense && lanes == ~0u) {
        sectors = site_width(site_word) + ((start & 31) != 0);
    } else {
        asm volatile("" : "+r"(page_byte));  // computed again rather than kept
        group = __match_any_sync(lanes, page_byte);
        const uint32_t same = __match_any_sync(lanes, address >> 5 | static_cast<uint64_t>(page_byte) << 56);
        sectors = count_bits(__ballot_sync(lanes, (same & lanes_below()) == 0) & group);
    }
    if (group & lanes_below()) return;
    const Place place{reinterpret_cast<ProbeState*>(state_address), launch, site_word, static_cast<uint8_t>(page_byte - 1)};
    const uint64_t counters = counters_of(place);
    add(counters, 1);
    add_lanes(place, counters, count_bits(group), sectors);
}

// Counts it, if its block is measured, and records it, if it is in the sample.
__device__ __noinline__ void record_access(uint64_t state_address, uint64_t launch, uint32_t site_word, uint64_t address,
                                           uint32_t page_byte) {
    uint32_t remaining = __activemask();
    if (!measured(state_address, launch)) return;
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const DeviceWarp warp = this_warp();
    // One turn per owner; nearly always there is one.
    while (remaining) {
        const uint32_t turn = __shfl_sync(remaining, page_byte, lowest_lane(remaining));
        const uint32_t group = __ballot_sync(remaining, page_byte == turn);
        if (page_byte == turn) {
            const uint32_t sectors = distinct_sectors(warp, group, static_cast<unsigned long long>(address));
            const uint32_t leader = lowest_lane(group);
            const Place place{state, launch, site_word, static_cast<uint8_t>(turn - 1)};
            unsigned long long ordinal = 0;
            if (warp.lane == leader) ordinal = count(place, count_bits(group), sectors);
            if (state->ring) {
                if (state->sample_size > 1) ordinal = __shfl_sync(group, ordinal, leader);
                if (sampled(ordinal, launch_slot(launch), site_id(site_word), state->sample_size))
                    write_record(place, warp, group, address);
            }
            return;
        }
        remaining &= ~group;
    }
}

struct Counting {
    __device__ __forceinline__ static void access(uint64_t state, uint64_t launch, uint32_t site_word, uint64_t address,
                                                  uint32_t page_byte) {
        count_access(state, launch, site_word, address, page_byte);
    }
};

struct Recording {
    __device__ __forceinline__ static void access(uint64_t state, uint64_t launch, uint32_t site_word, uint64_t address,
                                                  uint32_t page_byte) {
        record_access(state, launch, site_word, address, page_byte);
    }
};

// Lanes with a false guard do not access.
template <class Kind>
__device__ __forceinline__ void probe(int executes, uint64_t address, uint32_t site_word, uint64_t state, uint64_t launch) {
    const uint32_t page_byte = page_byte_of(state, address, executes != 0);
    if (page_byte) Kind::access(state, launch, site_word, address, page_byte);
}

// Several accesses of the same lanes. All page bytes are asked for at once; nearly always all are 0.
template <int P>
__device__ __forceinline__ uint64_t packed_address(const uint32_t (&low)[P], const uint32_t (&high)[P], uint32_t word) {
    uint32_t l = low[0];
    uint32_t h = high[0];
    SNOOPIE_UNROLL
    for (int p = 1; p < P; ++p) {
        if (packed_pair(word) == p) {
            l = low[p];
            h = high[p];
        }
    }
    return (static_cast<uint64_t>(h) << 32 | l) + static_cast<int64_t>(packed_immediate(word));
}

template <class Kind, int N, int P>
__device__ __forceinline__ void probe_pack(int guard, uint32_t first_word, uint64_t state, uint64_t launch, const uint32_t (&low)[P],
                                           const uint32_t (&high)[P], uint32_t (&word)[N]) {
    const bool executes = (guard != 0) != (site_width(first_word) > 1);
    uint32_t any = 0;
    SNOOPIE_UNROLL
    for (int i = 0; i < N; ++i) any |= page_byte_of(state, packed_address(low, high, word[i]), executes);
    if (any == 0) return;
    // One body for all: the next access moves down to the first place. What was computed above is computed again rather than kept.
    const uint32_t lanes = __activemask();
    uint32_t site = site_id(first_word);
    SNOOPIE_ROLL
    for (int turn = 0; turn < N; ++turn) {
        asm volatile("" : "+r"(word[0]));
        site += packed_distance(word[0]);
        const uint64_t address = packed_address(low, high, word[0]);
        const uint32_t page_byte = page_byte_of(state, address);
        if (page_byte) Kind::access(state, launch, pack_site(site, packed_log2_width(word[0])), address, page_byte);
        __syncwarp(lanes);
        SNOOPIE_UNROLL
        for (int i = 0; i + 1 < N; ++i) word[i] = word[i + 1];
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
    if (place.state->ring && sampled(ordinal, launch_slot(place.launch), site_id(place.site_word), place.state->sample_size) &&
        reserve(place.state, kUnitsStrided, &at))
        write_unit(place, at, RecordShape::bulk, 1u << warp.lane, base, static_cast<int64_t>(bytes));
}

}  // namespace
}  // namespace snoopie

using namespace snoopie;

// Probes come in two kinds: snoopie_count_… count, snoopie_record_… also select blocks and record.
//
//   registers   the address as the two registers of a pair and an immediate: cheaper than NVBit's own address argument
//   address     as NVBit computes it, for every other form of operand
//   source      of a copy into shared memory of which a lane reads its source only if a predicate holds. Where it asks fewer bytes than the
//               instruction copies, its address lies that many behind the source's.
//   packN_P     of N accesses to P different pairs of registers; see probe_packing.h
#define SNOOPIE_PROBES(Kind, kind)                                                                                                         \
    extern "C" __device__ __noinline__ void snoopie_##kind##_registers(int executes, uint32_t low, uint32_t high, int immediate,           \
                                                                       uint32_t site_word, uint64_t state, uint64_t launch) {              \
        const uint64_t address = (static_cast<uint64_t>(high) << 32 | low) + static_cast<int64_t>(immediate);                              \
        probe<Kind>(executes, address, site_word, state, launch);                                                                          \
    }                                                                                                                                      \
    extern "C" __device__ __noinline__ void snoopie_##kind##_address(int executes, uint64_t address, uint32_t site_word, uint64_t state,   \
                                                                     uint64_t launch) {                                                    \
        probe<Kind>(executes, address, site_word, state, launch);                                                                          \
    }                                                                                                                                      \
    extern "C" __device__ __noinline__ void snoopie_##kind##_source(int executes, int predicate, int negated, uint32_t low, uint32_t high, \
                                                                    int immediate, uint32_t site_word, uint64_t state, uint64_t launch) {  \
        const bool reads = (predicate != 0) != (negated != 0);                                                                             \
        const uint64_t address = (static_cast<uint64_t>(high) << 32 | low) + static_cast<int64_t>(immediate);                              \
        probe<Kind>(executes && reads, address & ~static_cast<uint64_t>(site_width(site_word) - 1), site_word, state, launch);             \
    }
SNOOPIE_PROBES(Counting, count)
SNOOPIE_PROBES(Recording, record)

// Parameters and their names, of 1 to 8.
#define SNOOPIE_PAIRS_1 uint32_t low0, uint32_t high0
#define SNOOPIE_LOWS_1 low0
#define SNOOPIE_HIGHS_1 high0
#define SNOOPIE_PAIRS_2 uint32_t low0, uint32_t high0, uint32_t low1, uint32_t high1
#define SNOOPIE_LOWS_2 low0, low1
#define SNOOPIE_HIGHS_2 high0, high1
#define SNOOPIE_WORDS_2 uint32_t word0, uint32_t word1
#define SNOOPIE_NAMES_2 word0, word1
#define SNOOPIE_PAIRS_3 uint32_t low0, uint32_t high0, uint32_t low1, uint32_t high1, uint32_t low2, uint32_t high2
#define SNOOPIE_LOWS_3 low0, low1, low2
#define SNOOPIE_HIGHS_3 high0, high1, high2
#define SNOOPIE_WORDS_3 uint32_t word0, uint32_t word1, uint32_t word2
#define SNOOPIE_NAMES_3 word0, word1, word2
#define SNOOPIE_PAIRS_4 \
    uint32_t low0, uint32_t high0, uint32_t low1, uint32_t high1, uint32_t low2, uint32_t high2, uint32_t low3, uint32_t high3
#define SNOOPIE_LOWS_4 low0, low1, low2, low3
#define SNOOPIE_HIGHS_4 high0, high1, high2, high3
#define SNOOPIE_WORDS_4 uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3
#define SNOOPIE_NAMES_4 word0, word1, word2, word3
#define SNOOPIE_WORDS_5 uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3, uint32_t word4
#define SNOOPIE_NAMES_5 word0, word1, word2, word3, word4
#define SNOOPIE_WORDS_6 uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3, uint32_t word4, uint32_t word5
#define SNOOPIE_NAMES_6 word0, word1, word2, word3, word4, word5
#define SNOOPIE_WORDS_7 uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3, uint32_t word4, uint32_t word5, uint32_t word6
#define SNOOPIE_NAMES_7 word0, word1, word2, word3, word4, word5, word6
#define SNOOPIE_WORDS_8 \
    uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3, uint32_t word4, uint32_t word5, uint32_t word6, uint32_t word7
#define SNOOPIE_NAMES_8 word0, word1, word2, word3, word4, word5, word6, word7
#define SNOOPIE_PACK(Kind, kind, N, P)                                                                                              \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack##N##_##P(int guard, uint32_t first_word, uint64_t state,          \
                                                                           uint64_t launch, SNOOPIE_PAIRS_##P, SNOOPIE_WORDS_##N) { \
        const uint32_t low[] = {SNOOPIE_LOWS_##P};                                                                                  \
        const uint32_t high[] = {SNOOPIE_HIGHS_##P};                                                                                \
        uint32_t word[] = {SNOOPIE_NAMES_##N};                                                                                      \
        probe_pack<Kind, N, P>(guard, first_word, state, launch, low, high, word);                                                  \
    }
#define SNOOPIE_PACKS(N, P) SNOOPIE_PACK(Counting, count, N, P) SNOOPIE_PACK(Recording, record, N, P)
SNOOPIE_PACKS(2, 1)
SNOOPIE_PACKS(2, 2)
SNOOPIE_PACKS(3, 1)
SNOOPIE_PACKS(3, 2)
SNOOPIE_PACKS(3, 3)
SNOOPIE_PACKS(4, 1)
SNOOPIE_PACKS(4, 2)
SNOOPIE_PACKS(4, 3)
SNOOPIE_PACKS(4, 4)
SNOOPIE_PACKS(5, 1)
SNOOPIE_PACKS(5, 2)
SNOOPIE_PACKS(5, 3)
SNOOPIE_PACKS(5, 4)
SNOOPIE_PACKS(6, 1)
SNOOPIE_PACKS(6, 2)
SNOOPIE_PACKS(6, 3)
SNOOPIE_PACKS(6, 4)
SNOOPIE_PACKS(7, 1)
SNOOPIE_PACKS(7, 2)
SNOOPIE_PACKS(7, 3)
SNOOPIE_PACKS(7, 4)
SNOOPIE_PACKS(8, 1)
SNOOPIE_PACKS(8, 2)
SNOOPIE_PACKS(8, 3)
SNOOPIE_PACKS(8, 4)

// A bulk copy of contiguous bytes: its size in units of 16 bytes is the low half of a register.
extern "C" __device__ __noinline__ void snoopie_probe_bulk(int executes, uint32_t low, uint32_t high, uint32_t size, uint32_t site_word,
                                                           uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const DeviceWarp warp = this_warp();
    if (!stands_for_warp(executes, warp)) return;
    uint64_t address = static_cast<uint64_t>(high) << 32 | low;
    const uint64_t end = address + (size & 0xffff) * kBulkUnit;
    if ((page_byte_of(state_address, address) | page_byte_of(state_address, end - 1)) == 0 || !measured(state_address, launch)) return;
    // A copy may run over the border of two pages of different owners.
    while (address < end) {
        const uint64_t border = ((address >> 21) + 1) << 21;
        const uint64_t stop = border < end && page_byte_of(state_address, address) != page_byte_of(state_address, border) ? border : end;
        const uint32_t page_byte = page_byte_of(state_address, address);
        if (page_byte)
            one_bulk({state, launch, site_word, static_cast<uint8_t>(page_byte - 1)}, warp, (stop - address) / kBulkUnit,
                     ((stop - 1) >> 5) - (address >> 5) + 1, address, stop - address);
        address = stop;
    }
}

// A tensor copy: the address of its tensor map and the coordinates of its box.
extern "C" __device__ __noinline__ void snoopie_probe_tensor(int executes, uint32_t low, uint32_t high, int c0, int c1, int c2, int c3,
                                                             int c4, uint32_t site_word, uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const DeviceWarp warp = this_warp();
    if (!stands_for_warp(executes, warp) || !measured(state_address, launch)) return;
    uint64_t words[kTensorWords];
    const auto* map_words = reinterpret_cast<const volatile uint64_t*>(static_cast<uint64_t>(high) << 32 | low);
    for (int i = 0; i < kTensorWords; ++i) words[i] = map_words[i];
    const TensorMap map = decode_tensor_map(words);
    const Place unknown{state, launch, site_word, static_cast<uint8_t>(state->unknown)};
    if (map.rank == 0) {
        count(unknown, 1, 0);
        return;
    }
    const int32_t start[kMaxRank] = {c0, c1, c2, c3, c4};
    const TensorBox box = tensor_box(map, start);
    const uint32_t first = page_byte_of(state_address, box.first);
    const uint32_t last = page_byte_of(state_address, box.last);
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
    if (lanes == 0 || warp.lane != lowest_lane(lanes) || !measured(state_address, launch)) return;
    count({state, launch, site_word, static_cast<uint8_t>(state->unknown)}, count_bits(lanes), 0);
}
