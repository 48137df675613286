// The functions injected before memory instructions. Nearly every access is local and must leave at once: one load from the page bytes.
//
// No __global__ in this file: ptxas refuses kernels with the options that injected functions need.
#include <cstddef>
#include <type_traits>

#include "probe/probe_logic.h"
#include "probe/tensor_map.h"

namespace snoopie {
namespace {

__device__ __forceinline__ uint32_t lanes_below() {
    uint32_t lanes;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
    return lanes;
}

// The page byte of the owner whose, or whose object's, this is. It is not kept in the cache near the warp: the host can have changed it
// since.
__device__ __forceinline__ uint32_t owner_byte(uint64_t state, uint32_t page_byte) {
    uint32_t owner;
    asm volatile("ld.global.L1::no_allocate.u8 %0, [%1];" : "=r"(owner) : "l"(state + kOwnerBytes + page_byte));
    return owner;
}

// The lanes of the real warp; see probe_logic.h.
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

    __device__ __forceinline__ U32 less_width(U32 sectors) const {
        // By another instruction than `site_width`: of two equal ones the compiler would keep the first one's result, in a register.
        uint32_t width;
        asm volatile("{.reg .s32 log2; shr.s32 log2, %1, 27; shl.b32 %0, 1, log2;}" : "=r"(width) : "r"(known_.site_word()));
        return sectors - width;
    }
};

// Global memory for sure: of a generic address the compiler provides for shared memory as well.
__device__ __forceinline__ void add(uint64_t address, uint64_t value) {
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ void read_pair(uint64_t address, uint32_t* first, uint32_t* second) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(*first), "=r"(*second) : "l"(address));
}

__device__ __forceinline__ uint64_t add_and_get(unsigned long long* address, uint64_t value) {
    uint64_t before;
    asm volatile("atom.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(address), "l"(value) : "memory");
    return before;
}

__device__ __forceinline__ void raise_to(unsigned long long* address, uint64_t value) {
    asm volatile("red.global.max.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ uint32_t exchange(unsigned int* address, uint32_t value) {
    uint32_t before;
    asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
    return before;
}

__device__ __forceinline__ uint64_t clock_now() {
    uint64_t clock;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
    return clock;
}

// True one time in 2^Bits, by chance.
template <int Bits>
__device__ __forceinline__ bool by_chance() {
    return static_cast<uint32_t>(clock_now()) * 0x9E3779B1u >> (32 - Bits) == 0;
}

// Where all accesses are in the sample, the host knows from their counts how many have no record.
__device__ __forceinline__ void drop(ProbeState* state) {
    if (state->sample_size > 1) add(reinterpret_cast<uint64_t>(&state->dropped), 1);
}

// Units that are in use as far as is known, modulo 2^32. Both ends are read at once: warps queue up for their line.
__device__ __forceinline__ uint32_t in_use(const ProbeState* state) {
    static_assert(offsetof(ProbeState, head_seen) == offsetof(ProbeState, tail) + sizeof(state->tail), "one load has both");
    uint64_t tail, head;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(tail), "=l"(head) : "l"(&state->tail) : "memory");
    return static_cast<uint32_t>(tail) - static_cast<uint32_t>(head);
}

constexpr uint64_t kNoPlace = ~0ull;  // in the ring

// Reserves `units` in the ring: the place of the first, kNoPlace if it is too full. See probe_abi.h for why no reservation passes the head.
__device__ __forceinline__ uint64_t reserve(ProbeState* state, uint32_t units) {
    // Who takes the ring for full may have read so long ago: this renews what is in the cache, all of it, and so is done rarely.
    if (state->full && by_chance<6>()) asm volatile("{.reg .u32 now; ld.acquire.gpu.global.u32 now, [%0];}" ::"l"(&state->full) : "memory");
    // Differences of 32 bits: the ring has fewer units.
    const uint32_t limit = static_cast<uint32_t>(state->ring_limit);
    if (in_use(state) >= limit) {
        // A look at the host's memory takes long, and thousands of warps would queue up for theirs: one looks for all.
        volatile unsigned int* looking = &state->looking;
        if (*looking != 0 || exchange(&state->looking, 1) != 0) return kNoPlace;
        raise_to(&state->head_seen, *state->ring_head);
        const bool full = in_use(state) >= limit;
        *const_cast<volatile uint32_t*>(&state->full) = full;
        *looking = 0;
        if (full) return kNoPlace;
    }
    return add_and_get(&state->tail, units);
}

// Where the thread is in its grid. Read anew each time: kept, it would take registers.
#define SNOOPIE_SPECIAL(name)                                  \
    [] {                                                       \
        uint32_t value;                                        \
        asm volatile("mov.u32 %0, %%" name ";" : "=r"(value)); \
        return value;                                          \
    }()

__device__ __forceinline__ uint64_t linear_block() {
    const uint64_t rows = SNOOPIE_SPECIAL("ctaid.y") + static_cast<uint64_t>(SNOOPIE_SPECIAL("nctaid.y")) * SNOOPIE_SPECIAL("ctaid.z");
    return SNOOPIE_SPECIAL("ctaid.x") + SNOOPIE_SPECIAL("nctaid.x") * rows;
}

__device__ __forceinline__ uint8_t warp_of_block() {
    const uint32_t rows = SNOOPIE_SPECIAL("tid.y") + SNOOPIE_SPECIAL("ntid.y") * SNOOPIE_SPECIAL("tid.z");
    return static_cast<uint8_t>((SNOOPIE_SPECIAL("tid.x") + SNOOPIE_SPECIAL("ntid.x") * rows) / 32);
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
    if (slot >= slots) slot = owner_byte(reinterpret_cast<uint64_t>(place.state), slot + 1) - 1;
    const uint32_t cell = cell_of(place.launch, site_id(place.site_word), slots, slot);
    return reinterpret_cast<uint64_t>(place.state->counters) + static_cast<uint64_t>(cell) * (kCounters * sizeof(uint64_t));
}

// An access of `lanes` lanes, by one of them, that touches `extra` sectors more than the site's width. Nearly all accesses are of full
// warps side by side, and add to one counter.
__device__ __forceinline__ void count(const Place& place, uint64_t lanes, int64_t extra) {
    const uint64_t counters = counters_of(place);
    add(counters + kAccesses * sizeof(uint64_t), 1);
    const uint64_t missing = 32 - lanes;
    if (missing) add(counters + kMissingLanes * sizeof(uint64_t), missing);
    if (extra) add(counters + kExtraSectors * sizeof(uint64_t), static_cast<uint64_t>(extra));
}

// One of which no sector is known.
__device__ __forceinline__ void count_executed(const Place& place, uint64_t lanes) {
    count(place, lanes, -static_cast<int64_t>(site_width(place.site_word)));
}

// Whether an access is recorded. The clock makes every access another one; its hash, and not itself, makes the choice uniform over accesses
// whatever their timing, and not in step with any pattern of the program.
__device__ __forceinline__ bool in_sample(uint32_t sample_size) {
    return sampled(static_cast<uint32_t>(clock_now()), SNOOPIE_SPECIAL("ctaid.x"), sample_size);
}

__device__ __forceinline__ uint64_t time_now() {
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

// What a record says of the access, but for its shape.
__device__ __forceinline__ RecordHead head_of_record(const Place& place, uint32_t mask) {
    RecordHead head{};
    head.time = time_now();
    head.block = linear_block();
    head.site = site_id(place.site_word);
    head.mask = mask;
    head.slot = launch_slot(place.launch);
    head.owner = place.owner;
    head.warp = warp_of_block();
    return head;
}

__device__ __forceinline__ volatile uint64_t* unit_of(ProbeState* state, uint64_t unit) {
    return const_cast<volatile uint64_t*>(state->ring) + (static_cast<uint32_t>(unit) & (state->ring_units - 1)) * kWordsPerUnit;
}

__device__ __forceinline__ void write_head(ProbeState* state, uint64_t at, const RecordHead& head) {
    volatile uint64_t* unit = unit_of(state, at);
    const uint64_t stamp = lap_stamp(at, state->ring_log2);
    SNOOPIE_ROLL
    for (uint32_t word = 0; word < kHeadWords; ++word) unit[word] = head_word(head, word) | stamp;
}

__device__ __forceinline__ DeviceWarp this_warp() {
    DeviceWarp warp;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(warp.lane_));
    return warp;
}

// A pointer of which the compiler knows that it is to global memory.
__device__ __forceinline__ ProbeState* state_of(uint64_t address) { return static_cast<ProbeState*>(__cvta_global_to_generic(address)); }

__device__ __forceinline__ bool counted(uint64_t state_address, uint64_t launch) {
    const ProbeState* state = state_of(state_address);
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

__device__ __forceinline__ uint32_t load_byte(uint64_t address) {
    uint32_t byte;
    asm volatile("ld.global.u8 %0, [%1 + %2];" : "=r"(byte) : "l"(address), "n"(sizeof(ProbeState)));
    return byte;
}

// The state by the upper half of its address: the lower one is 0. Made anew each time, so that one register is kept and not two.
__device__ __forceinline__ uint64_t state_at(uint32_t high) {
    uint64_t state;
    asm volatile("mov.b64 %0, {%1, %2};" : "=l"(state) : "r"(0), "r"(high));
    return state;
}

// Nothing is known of the first page: what is no address reads its byte, which takes no branch.
__device__ __forceinline__ uint32_t page_of(uint64_t address, bool executes) {
    return executes && address >> kAddressBits == 0 ? static_cast<uint32_t>(address >> kPageBits) : 0;
}

__device__ __forceinline__ uint32_t page_byte_of(uint64_t state, uint64_t address, bool executes = true) {
    return load_byte(state | page_of(address, executes));
}

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
    // a pair of registers, of which there are too few. Other orders cost more stores at the entry (CONTRIBUTING.md).
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

// --- An access by the lanes that come here together, all of which touch memory that is not their own ---
// They are lanes of one execution of the instruction: nothing brings lanes of a warp together but what the compiler puts in for it.

template <class F>
__device__ __forceinline__ bool counted(const F& frame) {
    return counted(frame.state_address(), frame.launch());
}

// Whether this lane is the lowest of the group.
template <class F>
__device__ __forceinline__ bool is_first(const F& frame) {
    return lowest_lane(frame.words[F::kGroup]) == frame.words[F::kLane];
}

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
    const auto group = group_of(warp, __activemask(), static_cast<unsigned long long>(address), page_byte, site_width(site_word));
    return {group.lanes, group.extra_sectors, group.dense};
}

// By the lane that stands for its group.
__device__ __forceinline__ void count(const Place& place, const Group<DeviceWarp>& group) {
    count(place, count_bits(group.lanes), static_cast<int32_t>(group.extra_sectors));
}

// The shape of the access of the frame's group, with every value in the frame as soon as it is known.
template <class F>
__device__ __forceinline__ void find_shape(F& frame) {
    if (frame.words[F::kStrided]) {
        const uint64_t width = site_width(frame.words[F::kSiteWord]);
        frame.put(F::kBase, frame.get(F::kAddress) - frame.words[F::kLane] * width);
        frame.put(F::kStride, width);
        return;
    }
    const DeviceWarp warp{frame.words[F::kLane]};
    frame.put(F::kBase, warp.broadcast(frame.words[F::kGroup], frame.get(F::kAddress), lowest_lane(frame.words[F::kGroup])));
    frame.put(F::kStride, 0);
    frame.words[F::kStrided] = 1;
    const uint32_t others = frame.words[F::kGroup] & (frame.words[F::kGroup] - 1);
    if (others == 0) return;
    frame.put(F::kPlace, warp.broadcast(frame.words[F::kGroup], frame.get(F::kAddress), lowest_lane(others)));
    const int32_t gap = lowest_lane(others) - lowest_lane(frame.words[F::kGroup]);
    const Stride stride = stride_of(static_cast<int64_t>(frame.get(F::kPlace) - frame.get(F::kBase)), gap);
    frame.put(F::kStride, static_cast<uint64_t>(stride.bytes));
    frame.words[F::kStrided] = stride.whole;
    const uint64_t expected =
        warp.ramp(frame.get(F::kBase), static_cast<int64_t>(frame.get(F::kStride)), lowest_lane(frame.words[F::kGroup]));
    if (warp.ballot(frame.words[F::kGroup], frame.get(F::kAddress) != expected)) frame.words[F::kStrided] = 0;
}

// A word of the record's head, by itself: together they would take more registers.
template <class F>
__device__ __forceinline__ uint64_t word_of_head(const F& frame, uint32_t word) {
    RecordHead head{};
    switch (word) {
        case 0:
            head.time = frame.get(F::kTime);
            return head_word(head, 0);
        case 1:
            head.base = frame.get(F::kBase);
            return head_word(head, 1);
        case 2:
            head.stride = static_cast<int64_t>(frame.get(F::kStride));
            return head_word(head, 2);
        case 3:
            head.block = linear_block();
            return head_word(head, 3);
        case 4:
            head.site = site_id(frame.words[F::kSiteWord]);
            head.slot = launch_slot(frame.launch());
            return head_word(head, 4);
        case 5:
            head.mask = frame.words[F::kGroup];
            head.owner = static_cast<uint8_t>(frame.words[F::kPageByte] - 1);
            head.warp = warp_of_block();
            return head_word(head, 5);
        default:
            head.time = frame.get(F::kTime);
            head.shape = frame.words[F::kStrided] ? RecordShape::strided : RecordShape::scattered;
            return head_word(head, 6);
    }
}

template <class F>
__device__ __forceinline__ void write_word(const F& frame, uint32_t unit, uint32_t word, uint64_t payload) {
    const uint64_t at = frame.get(F::kPlace) + unit;
    unit_of(frame.state(), at)[word] = payload | lap_stamp(at, frame.state()->ring_log2);
}

// Records the access of the frame, by the lanes of its group.
template <class F>
__device__ __forceinline__ void record_access(F& frame) {
    find_shape(frame);
    frame.put(F::kTime, time_now());
    frame.put(F::kPlace, kNoPlace);
    if (is_first(frame)) {
        frame.put(F::kPlace, reserve(frame.state(), frame.words[F::kStrided] ? kUnitsStrided : kUnitsScattered));
        if (frame.get(F::kPlace) == kNoPlace) drop(frame.state());
    }
    frame.put(F::kPlace, DeviceWarp{}.broadcast(frame.words[F::kGroup], frame.get(F::kPlace), lowest_lane(frame.words[F::kGroup])));
    // A lane writes every so many words: none without a place.
    const auto rank = [&] {
        return frame.get(F::kPlace) == kNoPlace ? 32 : count_bits(frame.words[F::kGroup] & ((1u << frame.words[F::kLane]) - 1));
    };
    frame.words[F::kTurn] = rank();
    SNOOPIE_ROLL
    while (frame.words[F::kTurn] < kHeadWords) {
        write_word(frame, 0, frame.words[F::kTurn], word_of_head(frame, frame.words[F::kTurn]));
        frame.words[F::kTurn] = frame.words[F::kTurn] + count_bits(frame.words[F::kGroup]);
    }
    frame.words[F::kTurn] = frame.words[F::kStrided] ? 32 : rank();
    if (frame.words[F::kTurn] < 32)
        write_word(frame, 1 + frame.words[F::kLane] / kWordsPerUnit, frame.words[F::kLane] % kWordsPerUnit, frame.get(F::kAddress));
    // Words of lanes that are not in the group have to be written as well.
    SNOOPIE_ROLL
    while (frame.words[F::kTurn] < 32) {
        const uint32_t lane = frame.words[F::kTurn];
        if (!(frame.words[F::kGroup] >> lane & 1)) write_word(frame, 1 + lane / kWordsPerUnit, lane % kWordsPerUnit, 0);
        frame.words[F::kTurn] = lane + count_bits(frame.words[F::kGroup]);
    }
}

// Whether an access, which is counted in any case, asks for a record. First of all, as nearly all may have none; all lanes that are here
// decide alike: one instruction reads the clock for them, and one the state.
__device__ __forceinline__ bool asks(uint64_t state) {
    static_assert(offsetof(ProbeState, sample_size) % 8 == 0 && offsetof(ProbeState, full) == offsetof(ProbeState, sample_size) + 4);
    uint32_t sample_size, full;
    read_pair(state + offsetof(ProbeState, sample_size), &sample_size, &full);
    if (sample_size > 1 && !in_sample(sample_size)) return false;
    // When records come faster than the host takes them, nearly all accesses find the ring full, and to ask for its tail they would
    // queue up for one word of memory. So only some of them ask, chosen by chance, which keeps what is recorded a fair sample.
    if (!full || by_chance<4>()) return true;
    if ((__activemask() & lanes_below()) == 0) drop(state_of(state));
    return false;
}

// What a probe does about an access to foreign memory. The frame has the state and the launch; what else goes there is a matter of what
// costs less: words written to the stack, or registers that every call saves.
struct Counting {
    template <class F>
    __device__ __forceinline__ static void access(F& frame, uint32_t site_word, uint64_t address, uint32_t page_byte) {
        if (!counted(frame)) return;
        frame.words[F::kSiteWord] = site_word;
        const Group<DeviceWarp> group = group_here(InFrame<F>{&frame}, site_word, address, &page_byte);
        if ((group.lanes & lanes_below()) == 0)
            count({frame.state(), frame.launch(), site_word, static_cast<uint8_t>(page_byte - 1)}, group);
    }
};

struct Recording {
    template <class F>
    __device__ __forceinline__ static void access(F& frame, uint32_t site_word, uint64_t address, uint32_t page_byte) {
        frame.keep_access(site_word, address, page_byte);
        if (counted(frame)) access(frame, asks(frame.state_address()));
    }

    // One that is in the frame, and counted.
    template <class F>
    __device__ __forceinline__ static void access(F& frame, bool asks) {
        frame.words[F::kTurn] = asks;
        {
            uint32_t owner_or_object = frame.words[F::kPageByte];
            const Group<DeviceWarp> group =
                group_here(InFrame<F>{&frame}, frame.words[F::kSiteWord], frame.get(F::kAddress), &owner_or_object);
            frame.words[F::kGroup] = group.lanes;
            frame.words[F::kStrided] = group.dense;
            if (!group.dense) frame.words[F::kPageByte] = owner_or_object;
            if ((frame.words[F::kGroup] & lanes_below()) == 0)
                count({frame.state(), frame.launch(), frame.words[F::kSiteWord], static_cast<uint8_t>(frame.words[F::kPageByte] - 1)},
                      group);
        }
        if (!frame.words[F::kTurn]) return;
        frame.words[F::kLane] = this_warp().lane_;
        record_access(frame);
    }
};

// As the others, in the selected blocks only.
struct Selecting {
    template <class F>
    __device__ __forceinline__ static void access(F& frame, uint32_t site_word, uint64_t address, uint32_t page_byte) {
        const BlockFilter* blocks = frame.state()->blocks;
        if (blocks && !in_selected_block(blocks)) return;
        if (frame.state()->ring)
            Recording::access(frame, site_word, address, page_byte);
        else
            Counting::access(frame, site_word, address, page_byte);
    }
};

// One access. Lanes with a false guard do not access.
template <class Kind>
__device__ __forceinline__ void probe(int executes, uint64_t address, uint32_t site_word, uint64_t state, uint64_t launch) {
    // In the place of the state's lower half, which is 0: so it need not be kept.
    uint32_t low = static_cast<uint32_t>(state);
    const uint32_t high = static_cast<uint32_t>(state >> 32);
    asm volatile("or.b32 %0, %0, %1;" : "+r"(low) : "r"(page_of(address, executes != 0)));
    uint32_t page_byte = load_byte(static_cast<uint64_t>(high) << 32 | low);
    if (page_byte == 0) return;
    if constexpr (!std::is_same_v<Kind, Selecting>) {
        if (!counted(state_at(high), launch)) return;
        // What has no record is counted from registers: there are enough.
        if (std::is_same_v<Kind, Counting> || !asks(state_at(high))) {
            const Group<DeviceWarp> group = group_here(InRegisters{high, site_word}, site_word, address, &page_byte);
            if ((group.lanes & lanes_below()) == 0)
                count({state_of(state_at(high)), launch, site_word, static_cast<uint8_t>(page_byte - 1)}, group);
            return;
        }
    }
    if constexpr (!std::is_same_v<Kind, Counting>) {
        Frame<Frame<1>::kOwnWords | 1> frame;
        // The compiler keeps a frame in registers if it is only ever looked up at places that it knows. No lane has the highest bit.
        frame.words[frame.kState - (lanes_below() >> 31)] = high;
        frame.put(frame.kLaunch, launch);
        if constexpr (std::is_same_v<Kind, Recording>) {
            frame.keep_access(site_word, address, page_byte);
            Recording::access(frame, true);
        } else {
            Kind::access(frame, site_word, address, page_byte);
        }
    }
}

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
    frame.keep(state, launch);
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

// Bulk and tensor instructions are executed once by a warp, whatever lanes are active: the lowest one stands for it.
__device__ __forceinline__ bool stands_for_warp(int executes, const DeviceWarp& warp) {
    const uint32_t lanes = __ballot_sync(__activemask(), executes != 0);
    return lanes != 0 && executes && warp.lane_ == lowest_lane(lanes);
}

__device__ __forceinline__ void one_bulk(const Place& place, const DeviceWarp& warp, uint64_t lanes, uint64_t sectors, uint64_t base,
                                         uint64_t bytes) {
    count(place, lanes, static_cast<int64_t>(sectors - site_width(place.site_word)));
    if (!place.state->ring || !in_sample(place.state->sample_size)) return;
    const uint64_t at = reserve(place.state, kUnitsStrided);
    if (at == kNoPlace) return drop(place.state);
    RecordHead head = head_of_record(place, 1u << warp.lane_);
    head.base = base;
    head.stride = static_cast<int64_t>(bytes);
    head.shape = RecordShape::bulk;
    write_head(place.state, at, head);
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
SNOOPIE_PROBES(Selecting, select)

// Registers 4 to 15 take the first twelve words of parameters, the stack the rest: only of packs of four, and only what is wanted rarely.
#define SNOOPIE_PACKS(Kind, kind)                                                                                                    \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack1(int guard, uint32_t word, uint64_t state, uint32_t low0,          \
                                                                   uint32_t high0, uint64_t launch) {                                \
        const uint32_t pairs[] = {low0, high0};                                                                                      \
        probe_pack<Kind, 1>(state, word, guard, launch, pairs);                                                                      \
    }                                                                                                                                \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack2(int guard, uint32_t word, uint64_t state, uint32_t low0,          \
                                                                   uint32_t high0, uint32_t low1, uint32_t high1, uint64_t launch) { \
        const uint32_t pairs[] = {low0, high0, low1, high1};                                                                         \
        probe_pack<Kind, 2>(state, word, guard, launch, pairs);                                                                      \
    }                                                                                                                                \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack3(int guard, uint32_t word, uint64_t state, uint32_t low0,          \
                                                                   uint32_t high0, uint32_t low1, uint32_t high1, uint32_t low2,     \
                                                                   uint32_t high2, uint64_t launch) {                                \
        const uint32_t pairs[] = {low0, high0, low1, high1, low2, high2};                                                            \
        probe_pack<Kind, 3>(state, word, guard, launch, pairs);                                                                      \
    }                                                                                                                                \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack4(int guard, uint32_t word, uint64_t state, uint32_t low0,          \
                                                                   uint32_t high0, uint32_t low1, uint32_t high1, uint32_t low2,     \
                                                                   uint32_t high2, uint32_t low3, uint32_t high3, uint64_t launch) { \
        const uint32_t pairs[] = {low0, high0, low1, high1, low2, high2, low3, high3};                                               \
        probe_pack<Kind, 4>(state, word, guard, launch, pairs);                                                                      \
    }
SNOOPIE_PACKS(Counting, count)
SNOOPIE_PACKS(Recording, record)
SNOOPIE_PACKS(Selecting, select)

// A bulk copy of contiguous bytes: its size in units of 16 bytes is the low half of a register.
extern "C" __device__ __noinline__ void snoopie_probe_bulk(int executes, uint32_t low, uint32_t high, uint32_t size, uint32_t site_word,
                                                           uint64_t state, uint64_t launch) {
    auto* memory = reinterpret_cast<ProbeState*>(state);
    const DeviceWarp warp = this_warp();
    if (!stands_for_warp(executes, warp)) return;
    uint64_t address = static_cast<uint64_t>(high) << 32 | low;
    const uint64_t end = address + (size & 0xffff) * kBulkUnit;
    if ((page_byte_of(state, address) | page_byte_of(state, end - 1)) == 0 || !measured(state, launch)) return;
    // A copy may run over the border of two pages: of different owners, or of objects of one.
    while (address < end) {
        const uint64_t border = ((address >> 21) + 1) << 21;
        uint64_t stop = end;
        uint32_t page_byte = page_byte_of(state, address);
        if (border < end && page_byte != page_byte_of(state, border)) {
            const uint32_t owner = owner_byte(state, page_byte);
            if (owner == owner_byte(state, page_byte_of(state, border)))
                page_byte = owner;
            else
                stop = border;
        }
        if (page_byte)
            one_bulk({memory, launch, site_word, static_cast<uint8_t>(page_byte - 1)}, warp, (stop - address) / kBulkUnit,
                     ((stop - 1) >> 5) - (address >> 5) + 1, address, stop - address);
        address = stop;
    }
}

// A tensor copy: the address of its tensor map and the coordinates of its box.
extern "C" __device__ __noinline__ void snoopie_probe_tensor(int executes, uint32_t low, uint32_t high, int c0, int c1, int c2, int c3,
                                                             int c4, uint32_t site_word, uint64_t state, uint64_t launch) {
    auto* memory = reinterpret_cast<ProbeState*>(state);
    const DeviceWarp warp = this_warp();
    if (!stands_for_warp(executes, warp) || !measured(state, launch)) return;
    uint64_t words[kTensorWords];
    const auto* map_words = reinterpret_cast<const volatile uint64_t*>(static_cast<uint64_t>(high) << 32 | low);
    for (int i = 0; i < kTensorWords; ++i) words[i] = map_words[i];
    const TensorMap map = decode_tensor_map(words);
    const Place unknown{memory, launch, site_word, static_cast<uint8_t>(memory->unknown)};
    if (map.rank == 0) {
        count_executed(unknown, 1);
        return;
    }
    const int32_t start[kMaxRank] = {c0, c1, c2, c3, c4};
    const TensorBox box = tensor_box(map, start);
    const uint32_t first = page_byte_of(state, box.first);
    const uint32_t last = page_byte_of(state, box.last);
    if (box.bytes == 0 || (first | last) == 0) return;
    Place place = unknown;
    const uint32_t owner = first == last ? first : owner_byte(state, first);
    if (first == last || owner == owner_byte(state, last)) place.owner = static_cast<uint8_t>(owner - 1);
    one_bulk(place, warp, box.bytes, box.sectors, box.first, box.bytes);
}

// An instruction whose addresses cannot be had: how often it runs.
extern "C" __device__ __noinline__ void snoopie_probe_executed(int executes, uint32_t site_word, uint64_t state, uint64_t launch) {
    auto* memory = reinterpret_cast<ProbeState*>(state);
    const DeviceWarp warp = this_warp();
    const uint32_t lanes = __ballot_sync(__activemask(), executes != 0);
    if (lanes == 0 || warp.lane_ != lowest_lane(lanes) || !measured(state, launch)) return;
    count_executed({memory, launch, site_word, static_cast<uint8_t>(memory->unknown)}, count_bits(lanes));
}
