// The functions injected before memory instructions. Nearly every access is local and must leave at once: one load from the page bytes.
//
// No __global__ in this file: ptxas refuses kernels with the options that injected functions need.
#include <cstddef>

#include "probe_logic.h"
#include "tensor_map.h"

namespace snoopie {
namespace {

__device__ __forceinline__ uint32_t lanes_below() {
    uint32_t lanes;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
    return lanes;
}

// The page byte of the owner whose, or whose object's, this is. It is not kept in the cache near the warp: the host can have changed it
// since.
__device__ __forceinline__ uint32_t owner_byte(const ProbeState* state, uint32_t page_byte) {
    uint32_t owner;
    asm volatile("ld.global.L1::no_allocate.u8 %0, [%1];" : "=r"(owner) : "l"(state->owner_bytes + page_byte));
    return owner;
}

// The lanes of the real warp; see probe_logic.h.
struct DeviceWarp {
    using U64 = unsigned long long;
    using U32 = uint32_t;

    uint32_t lane_;
    const ProbeState* state_;

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
    __device__ __forceinline__ U32 all(U32 value) const { return value; }
    __device__ __forceinline__ U32 one_if(bool value) const { return value; }
    __device__ __forceinline__ U32 count(U32 mask) const { return count_bits(mask); }
    __device__ __forceinline__ bool is_all(U32 value, uint32_t lanes) const { return value == lanes; }
    __device__ __forceinline__ U32 choose(bool condition, U32 one, U32 other) const { return condition ? one : other; }
    __device__ __forceinline__ U32 owner_byte(U32 page_byte) const { return snoopie::owner_byte(state_, page_byte); }

    __device__ __forceinline__ uint32_t ballot(uint32_t group, bool value) const { return __ballot_sync(group, value); }

    __device__ __forceinline__ uint64_t broadcast(uint32_t group, U64 value, uint32_t from) const {
        return __shfl_sync(group, value, from);
    }

    __device__ __forceinline__ U64 ramp(uint64_t base, int64_t stride, uint32_t lowest) const {
        return base + static_cast<uint64_t>(stride) * (lane_ - lowest);
    }
};

// Global memory for sure: of a generic address the compiler provides for shared memory as well.
__device__ __forceinline__ void add(uint64_t address, uint64_t value) {
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ uint64_t clock_now() {
    uint64_t clock;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
    return clock;
}

// Reserves `units` in the ring; false if it is too full. See probe_abi.h for why no reservation passes the head.
__device__ __forceinline__ bool reserve(ProbeState* state, uint32_t units, uint64_t* place) {
    // Who takes the ring for full may have read so long ago: this renews what is in the cache, all of it, and so is done rarely.
    if (state->full && sampled(clock_now(), threadIdx.x, 64)) {
        uint32_t now;
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(&state->full) : "memory");
    }
    const uint64_t limit = state->ring_units - state->ring_slack;
    volatile unsigned long long* tail = &state->tail;
    volatile unsigned long long* head_seen = &state->head_seen;
    volatile unsigned int* looking = &state->looking;
    volatile uint32_t* full = &state->full;
    if (*tail - *head_seen >= limit) {
        // A look at the host's memory takes long, and thousands of warps would queue up for theirs: one looks for all.
        bool room = false;
        if (*looking == 0 && atomicExch(&state->looking, 1u) == 0) {
            const uint64_t head = *state->ring_head;
            atomicMax(&state->head_seen, head);
            room = *tail - head < limit;
            *full = !room;
            *looking = 0;
        }
        if (!room) {
            add(reinterpret_cast<uint64_t>(&state->dropped), 1);
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
    uint8_t owner;  // a slot of the owner's
};

__device__ __forceinline__ uint64_t counters_of(const Place& place) {
    const uint32_t slots = launch_slots(place.launch, place.state->owners);
    uint32_t slot = place.owner;
    if (slot >= slots) slot = owner_byte(place.state, slot + 1) - 1;
    const uint32_t cell = cell_of(place.launch, site_id(place.site_word), slots, slot);
    return reinterpret_cast<uint64_t>(place.state->counters) + static_cast<uint64_t>(cell) * (kCounters * sizeof(uint64_t));
}

// An access of `lanes` lanes, by one of them. Nearly all accesses are of full warps side by side, and add to one counter.
__device__ __forceinline__ void count(const Place& place, uint64_t lanes, uint64_t sectors) {
    const uint64_t counters = counters_of(place);
    add(counters + kAccesses * sizeof(uint64_t), 1);
    const uint64_t missing = 32 - lanes;
    const uint64_t extra = sectors - site_width(place.site_word);
    if (missing) add(counters + kMissingLanes * sizeof(uint64_t), missing);
    if (extra) add(counters + kExtraSectors * sizeof(uint64_t), extra);
}

// Whether an access is recorded. The clock makes every access another one; its hash, and not itself, makes the choice uniform over accesses
// whatever their timing, and not in step with any pattern of the program. Of one lane: for the others it can differ.
__device__ __forceinline__ bool in_sample(const ProbeState* state, uint64_t address) {
    if (state->sample_size <= 1) return true;
    return sampled(clock_now(), address, state->sample_size);
}

// What a record says of the access, but for its shape.
__device__ __forceinline__ RecordHead head_of_record(const Place& place, uint32_t mask) {
    RecordHead head{};
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(head.time));
    const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    head.block = linear_block();
    head.site = site_id(place.site_word);
    head.mask = mask;
    head.slot = launch_slot(place.launch);
    head.owner = place.owner;
    head.warp = static_cast<uint8_t>(thread / 32);
    return head;
}

__device__ __forceinline__ volatile uint64_t* unit_of(ProbeState* state, uint64_t unit) {
    return const_cast<volatile uint64_t*>(state->ring) + (unit & (state->ring_units - 1)) * kWordsPerUnit;
}

// By the `count` lanes of a group, each of which knows its place among them: a lane writes every so many words.
__device__ __forceinline__ void write_head(ProbeState* state, uint64_t at, const RecordHead& head, uint32_t rank, uint32_t count) {
    volatile uint64_t* unit = unit_of(state, at);
    const uint64_t stamp = lap_stamp(at, state->ring_log2);
    SNOOPIE_ROLL
    for (uint32_t word = rank; word < kHeadWords; word += count) unit[word] = head_word(head, word) | stamp;
}

__device__ __forceinline__ DeviceWarp this_warp(const ProbeState* state) {
    DeviceWarp warp;
    warp.state_ = state;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(warp.lane_));
    return warp;
}

__device__ __forceinline__ bool counted(uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const uint32_t mark = launch_mark(launch);
    if (mark == state->mark) return true;
    if (is_launch(mark)) add(state_address + offsetof(ProbeState, misdirected), 1);
    return false;
}

__device__ __noinline__ bool in_selected_block(const BlockFilter* blocks) {
    return block_selected(*blocks, blockIdx.x, blockIdx.y, blockIdx.z, linear_block());
}

__device__ __forceinline__ bool measured(uint64_t state_address, uint64_t launch) {
    const auto* state = reinterpret_cast<const ProbeState*>(state_address);
    return counted(state_address, launch) && (!state->blocks || in_selected_block(state->blocks));
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

// Counts it. Returns the lanes that touch the same owner's memory as this one.
__device__ __forceinline__ uint32_t count_access(uint64_t state_address, uint64_t launch, uint32_t site_word, uint64_t address,
                                                 uint32_t page_byte) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const Group<DeviceWarp> group =
        group_of(this_warp(state), __activemask(), static_cast<unsigned long long>(address), &page_byte, site_width(site_word));
    if ((group.lanes & lanes_below()) == 0)
        count({state, launch, site_word, static_cast<uint8_t>(page_byte - 1)}, count_bits(group.lanes), group.sectors);
    return group.lanes;
}

// Records it, by the lanes of a group.
__device__ __noinline__ void record_access(uint64_t state_address, uint64_t launch, uint32_t site_word, uint64_t address,
                                           uint32_t page_byte, uint32_t group) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const DeviceWarp warp = this_warp(state);
    const uint32_t leader = lowest_lane(group);
    const uint32_t width = site_width(site_word);
    const uint64_t start = address - static_cast<uint64_t>(warp.lane_) * width;
    const Shape shape = warp.match_all(group, start) && (group & (group - 1))
                            ? Shape{start + leader * width, width, true}
                            : shape_of(warp, group, static_cast<unsigned long long>(address));
    unsigned long long at = ~0ull;
    if (warp.lane_ == leader) {
        uint64_t place;
        if (reserve(state, shape.strided ? kUnitsStrided : kUnitsScattered, &place)) at = place;
    }
    at = __shfl_sync(group, at, leader);
    if (at == ~0ull) return;
    RecordHead head = head_of_record({state, launch, site_word, static_cast<uint8_t>(page_byte - 1)}, group);
    head.base = shape.base;
    head.stride = shape.stride;
    head.shape = shape.strided ? RecordShape::strided : RecordShape::scattered;
    const uint32_t rank = count_bits(group & lanes_below());
    const uint32_t count = count_bits(group);
    write_head(state, at, head, rank, count);
    if (shape.strided) return;
    // Words of lanes that are not in the group have to be written as well.
    const auto write_address = [&](uint32_t lane, uint64_t value) {
        const uint64_t unit = at + 1 + lane / kWordsPerUnit;
        unit_of(state, unit)[lane % kWordsPerUnit] = value | lap_stamp(unit, state->ring_log2);
    };
    write_address(warp.lane_, address);
    SNOOPIE_ROLL
    for (uint32_t lane = rank; lane < 32; lane += count)
        if (!(group >> lane & 1)) write_address(lane, 0);
}

struct Counting {
    __device__ __forceinline__ static void access(uint64_t state, uint64_t launch, uint32_t site_word, uint64_t address,
                                                  uint32_t page_byte) {
        if (counted(state, launch)) count_access(state, launch, site_word, address, page_byte);
    }
};

struct Recording {
    __device__ __noinline__ static void access(uint64_t state_address, uint64_t launch, uint32_t site_word, uint64_t address,
                                               uint32_t page_byte) {
        const auto* state = reinterpret_cast<const ProbeState*>(state_address);
        if (!measured(state_address, launch)) return;
        const uint32_t group = count_access(state_address, launch, site_word, address, page_byte);
        if (!state->ring) return;
        // When records come faster than the host takes them, nearly all accesses find the ring full, and to ask for its tail they would
        // queue up for one word of memory. So only some of them ask, chosen by chance, which keeps what is recorded a fair sample. The
        // lowest lane decides.
        constexpr uint32_t kAskOneIn = 16;
        const bool wanted = in_sample(state, address);
        const bool asks = wanted && (!state->full || sampled(clock_now(), threadIdx.x, kAskOneIn));
        const uint32_t lowest = lowest_bit(group);
        if (__ballot_sync(group, asks) & lowest)
            record_access(state_address, launch, site_word, address, page_byte, group);
        else if (wanted && (group & lanes_below()) == 0)
            add(state_address + offsetof(ProbeState, dropped), 1);
    }
};

// Lanes with a false guard do not access.
template <class Kind>
__device__ __forceinline__ void probe(int executes, uint64_t address, uint32_t site_word, uint64_t state, uint64_t launch) {
    const uint32_t page_byte = page_byte_of(state, address, executes != 0);
    if (page_byte) Kind::access(state, launch, site_word, address, page_byte);
}

// Several accesses of the same lanes, to P pairs of registers. The values are low, high and word of each.
template <class Kind, int P>
__device__ __forceinline__ void probe_pack(uint64_t state, int guard, uint32_t pack, uint64_t launch, const uint32_t (&values)[3 * P]) {
    uint32_t any = 0;
    SNOOPIE_UNROLL
    for (int p = 0; p < P; ++p) {
        // One after the other: side by side they would take more registers than are free.
        if (any) continue;
        const uint32_t word = values[3 * p + 2];
        const uint64_t lowest =
            (static_cast<uint64_t>(values[3 * p + 1]) << 32 | values[3 * p]) + static_cast<int64_t>(packed_immediate(word));
        any = page_byte_of(state, lowest) | (((static_cast<uint32_t>(lowest) & 0x1fffff) + packed_span(word)) >> 21);
    }
    if (any == 0) return;
    // From here on all is kept in memory and not in registers: those would have to be saved before it is known whether they are needed. An
    // odd size, because for an even one the compiler would align the stack, in every call.
    enum : int { kLanes, kTurn, kCount, kSite, kHolds, kState, kLaunch = kState + 2, kWords = kLaunch + 2, kPairs = kWords + 2 };
    volatile uint32_t kept[(kPairs + 2 * P) | 1];
    const auto keep = [&](int at, uint64_t value) {
        kept[at] = static_cast<uint32_t>(value);
        kept[at + 1] = static_cast<uint32_t>(value >> 32);
    };
    const auto get = [&](int at) { return static_cast<uint64_t>(kept[at + 1]) << 32 | kept[at]; };
    SNOOPIE_UNROLL
    for (int p = 0; p < P; ++p) keep(kPairs + 2 * p, static_cast<uint64_t>(values[3 * p + 1]) << 32 | values[3 * p]);
    keep(kState, state);
    keep(kLaunch, launch);
    const uint32_t* description = reinterpret_cast<const ProbeState*>(state)->packs + pack;
    keep(kWords, reinterpret_cast<uint64_t>(description + kPackAccesses));
    kept[kSite] = site_id(description[kPackSite]);
    kept[kHolds] = (guard != 0) != (site_width(description[kPackSite]) > 1);
    kept[kCount] = description[kPackCount];
    kept[kTurn] = 0;
    kept[kLanes] = __activemask();
    SNOOPIE_ROLL
    do {
        const uint32_t word = reinterpret_cast<const uint32_t*>(get(kWords))[kept[kTurn]];
        const uint32_t site = kept[kSite] + packed_distance(word);
        kept[kSite] = site;
        const uint64_t address = get(kPairs + 2 * static_cast<int>(packed_pair(word))) + static_cast<int64_t>(packed_immediate(word));
        const uint32_t page_byte = page_byte_of(get(kState), address, kept[kHolds] || !packed_guarded(word));
        if (page_byte) Kind::access(get(kState), get(kLaunch), pack_site(site, packed_log2_width(word)), address, page_byte);
        __syncwarp(kept[kLanes]);
        kept[kTurn] = kept[kTurn] + 1;
    } while (kept[kTurn] < kept[kCount]);
}

// Bulk and tensor instructions are executed once by a warp, whatever lanes are active: the lowest one stands for it.
__device__ __forceinline__ bool stands_for_warp(int executes, const DeviceWarp& warp) {
    const uint32_t lanes = __ballot_sync(__activemask(), executes != 0);
    return lanes != 0 && executes && warp.lane_ == lowest_lane(lanes);
}

__device__ __forceinline__ void one_bulk(const Place& place, const DeviceWarp& warp, uint64_t lanes, uint64_t sectors, uint64_t base,
                                         uint64_t bytes) {
    count(place, lanes, sectors);
    uint64_t at;
    if (!place.state->ring || !in_sample(place.state, base) || !reserve(place.state, kUnitsStrided, &at)) return;
    RecordHead head = head_of_record(place, 1u << warp.lane_);
    head.base = base;
    head.stride = static_cast<int64_t>(bytes);
    head.shape = RecordShape::bulk;
    write_head(place.state, at, head, 0, 1);
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
//   packP       of several accesses to P different pairs of registers; see probe_packing.h
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

// Registers 4 to 15 take the first twelve words of parameters, memory the rest. The probe needs two registers more than are free to it:
// what is wanted only after the decision goes to memory, and nothing to the last two.
#define SNOOPIE_PACKS(Kind, kind)                                                                                                         \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack1(uint64_t state, uint32_t low, uint32_t high, uint32_t word, int guard, \
                                                                   uint32_t pack, uint64_t launch) {                                      \
        const uint32_t values[] = {low, high, word};                                                                                      \
        probe_pack<Kind, 1>(state, guard, pack, launch, values);                                                                          \
    }                                                                                                                                     \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack2(uint64_t state, uint32_t low0, uint32_t high0, uint32_t word0,         \
                                                                   uint32_t low1, uint32_t high1, uint32_t word1, int guard,              \
                                                                   uint32_t pack, uint32_t, uint32_t, uint64_t launch) {                  \
        const uint32_t values[] = {low0, high0, word0, low1, high1, word1};                                                               \
        probe_pack<Kind, 2>(state, guard, pack, launch, values);                                                                          \
    }                                                                                                                                     \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack3(                                                                       \
        uint64_t state, uint32_t low0, uint32_t high0, uint32_t word0, uint32_t low1, uint32_t high1, uint32_t word1, int guard,          \
        uint32_t pack, uint32_t, uint32_t, uint64_t launch, uint32_t low2, uint32_t high2, uint32_t word2) {                              \
        const uint32_t values[] = {low0, high0, word0, low1, high1, word1, low2, high2, word2};                                           \
        probe_pack<Kind, 3>(state, guard, pack, launch, values);                                                                          \
    }                                                                                                                                     \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack4(                                                                       \
        uint64_t state, uint32_t low0, uint32_t high0, uint32_t word0, uint32_t low1, uint32_t high1, uint32_t word1, int guard,          \
        uint32_t pack, uint32_t, uint32_t, uint64_t launch, uint32_t low2, uint32_t high2, uint32_t word2, uint32_t low3, uint32_t high3, \
        uint32_t word3) {                                                                                                                 \
        const uint32_t values[] = {low0, high0, word0, low1, high1, word1, low2, high2, word2, low3, high3, word3};                       \
        probe_pack<Kind, 4>(state, guard, pack, launch, values);                                                                          \
    }
SNOOPIE_PACKS(Counting, count)
SNOOPIE_PACKS(Recording, record)

// A bulk copy of contiguous bytes: its size in units of 16 bytes is the low half of a register.
extern "C" __device__ __noinline__ void snoopie_probe_bulk(int executes, uint32_t low, uint32_t high, uint32_t size, uint32_t site_word,
                                                           uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const DeviceWarp warp = this_warp(state);
    if (!stands_for_warp(executes, warp)) return;
    uint64_t address = static_cast<uint64_t>(high) << 32 | low;
    const uint64_t end = address + (size & 0xffff) * kBulkUnit;
    if ((page_byte_of(state_address, address) | page_byte_of(state_address, end - 1)) == 0 || !measured(state_address, launch)) return;
    // A copy may run over the border of two pages: of different owners, or of objects of one.
    while (address < end) {
        const uint64_t border = ((address >> 21) + 1) << 21;
        uint64_t stop = end;
        uint32_t page_byte = page_byte_of(state_address, address);
        if (border < end && page_byte != page_byte_of(state_address, border)) {
            const uint32_t owner = owner_byte(state, page_byte);
            if (owner == owner_byte(state, page_byte_of(state_address, border)))
                page_byte = owner;
            else
                stop = border;
        }
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
    const DeviceWarp warp = this_warp(state);
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
    const uint32_t owner = first == last ? first : owner_byte(state, first);
    if (first == last || owner == owner_byte(state, last)) place.owner = static_cast<uint8_t>(owner - 1);
    one_bulk(place, warp, box.bytes, box.sectors, box.first, box.bytes);
}

// An instruction whose addresses cannot be had: how often it runs.
extern "C" __device__ __noinline__ void snoopie_probe_executed(int executes, uint32_t site_word, uint64_t state_address, uint64_t launch) {
    auto* state = reinterpret_cast<ProbeState*>(state_address);
    const DeviceWarp warp = this_warp(state);
    const uint32_t lanes = __ballot_sync(__activemask(), executes != 0);
    if (lanes == 0 || warp.lane_ != lowest_lane(lanes) || !measured(state_address, launch)) return;
    count({state, launch, site_word, static_cast<uint8_t>(state->unknown)}, count_bits(lanes), 0);
}
