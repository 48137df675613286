// What the injected functions and the host share: the layout of a device's probe memory, the counters of a launch, and the ring of records.
#pragma once

#include <cstdint>

#include "probe/pages.h"

// An injected function should be short and need no stack: arrays of a few elements are unrolled into registers, longer loops are not.
#ifdef __CUDACC__
#define SNOOPIE_BOTH __host__ __device__ __forceinline__
#define SNOOPIE_UNROLL _Pragma("unroll")
#define SNOOPIE_ROLL _Pragma("unroll 1")
#else
#define SNOOPIE_BOTH inline
#define SNOOPIE_UNROLL
#define SNOOPIE_ROLL
#endif

namespace snoopie {

// --- The ring of records ---
// Pinned host memory in units of 8 words; `tail` counts units ever reserved by warps, `head` units ever consumed by the host. A record is
// one unit (evenly spaced lanes, bulk copies) or five (32 addresses follow).
//
// A word carries 48 bits and, above them, the lap of the ring in which it was written: the host takes a record when all its words are of
// the lap. So the lanes of a warp write the words together, in any order, without a fence, and nobody clears what was read. Laps are
// counted from 1 to 32768 and then from 1 again.
//
// A warp first checks that `tail - head` leaves `slack` units free, then reserves by an atomic add. Between the check and the add of one
// warp every other resident warp can add once, so with slack >= resident warps x 5 no reservation ever passes the head: a full ring drops
// whole records and leaves no holes.
constexpr uint32_t kWordsPerUnit = 8;
constexpr uint32_t kUnitsStrided = 1;
constexpr uint32_t kUnitsScattered = 5;
constexpr uint32_t kPayloadBits = 48;
constexpr uint64_t kPayload = (1ull << kPayloadBits) - 1;

// `log2_units`: of the ring.
SNOOPIE_BOTH uint64_t lap_stamp(uint64_t unit, uint32_t log2_units) { return ((unit >> log2_units & 0x7fff) + 1) << kPayloadBits; }

// A bulk record has the bytes moved where a strided one has the stride. A wait has its length there, its end as the time, the address
// polled last, and as the mask a wait_mask.
enum class RecordShape : uint8_t { strided, scattered, bulk, wait };

struct RecordHead {
    uint64_t time;   // ns
    uint64_t base;   // address of the lowest lane
    int64_t stride;  // of a bulk record, the bytes moved; of a wait, ns
    uint64_t block;  // linear index
    uint32_t site;
    uint32_t mask;
    uint16_t slot;  // of the launch
    uint8_t owner;  // a slot of the owner's, see SlotTable
    uint8_t warp;
    RecordShape shape;
    uint16_t sm;  // that ran the block
};

// The payload of a record's first unit, word by word. An address has 47 bits, a stride no more than an address, and a grid of 2^48 blocks
// would not end.
constexpr uint32_t kHeadWords = 7;
SNOOPIE_BOTH uint64_t head_word(const RecordHead& head, uint32_t word) {
    switch (word) {
        case 0:
            return head.time & kPayload;
        case 1:
            return head.base & kPayload;
        case 2:
            return static_cast<uint64_t>(head.stride) & kPayload;
        case 3:
            return head.block & kPayload;
        case 4:
            return head.site | static_cast<uint64_t>(head.slot) << 32;
        case 5:
            return head.mask | static_cast<uint64_t>(head.owner) << 32 | static_cast<uint64_t>(head.warp) << 40;
        default:
            return head.time >> kPayloadBits | static_cast<uint64_t>(head.shape) << 16 | static_cast<uint64_t>(head.sm) << 24;
    }
}

inline RecordHead head_of(const uint64_t (&words)[kHeadWords]) {
    RecordHead head{};
    head.time = words[0] | (words[6] & 0xffff) << kPayloadBits;
    head.base = words[1];
    head.stride = static_cast<int64_t>(words[2] << 16) >> 16;
    head.block = words[3];
    head.site = static_cast<uint32_t>(words[4]);
    head.slot = static_cast<uint16_t>(words[4] >> 32);
    head.mask = static_cast<uint32_t>(words[5]);
    head.owner = static_cast<uint8_t>(words[5] >> 32);
    head.warp = static_cast<uint8_t>(words[5] >> 40);
    head.shape = static_cast<RecordShape>(words[6] >> 16 & 3);
    head.sm = static_cast<uint16_t>(words[6] >> 24);
    return head;
}

// --- Which thread blocks are measured ---
struct BlockRange {
    uint64_t first;
    uint64_t last;
};

struct BlockFilter {
    enum Shape : uint32_t { kAll, kLinear, kAxes };
    static constexpr uint32_t kMaxRanges = 32;
    uint32_t shape = kAll;
    uint32_t counts[3] = {0, 0, 0};  // ranges an axis, x first; 0 = all of it. The linear index takes the place of x.
    BlockRange ranges[3][kMaxRanges] = {};
};

// --- Waits ---
// What a warp polls for at the moment. Only the warp itself writes its slot; the host reads all of them while kernels run.
struct WaitSlot {
    uint64_t key;  // wait_key, 0 = it does not wait
    uint64_t block;
    uint64_t start;  // ns: the first poll that found nothing new
    uint64_t last;   // and the latest
    uint64_t address;
    uint64_t polls;
    uint64_t unused[2];
};
constexpr uint32_t kWarpsOfSm = 64;
// Multiprocessors are numbered with gaps. Those with higher numbers have no slots.
constexpr uint32_t kWaitSlots = 256 * kWarpsOfSm;

// `site` is that of the poll. Never 0.
SNOOPIE_BOTH uint64_t wait_key(uint16_t slot, uint32_t site, uint8_t warp) {
    return static_cast<uint64_t>(slot) << 48 | static_cast<uint64_t>(warp) << 32 | 1u << 31 | site;
}
SNOOPIE_BOTH uint16_t wait_slot_of(uint64_t key) { return static_cast<uint16_t>(key >> 48); }
SNOOPIE_BOTH uint8_t wait_warp_of(uint64_t key) { return static_cast<uint8_t>(key >> 32); }
SNOOPIE_BOTH uint32_t wait_site_of(uint64_t key) { return static_cast<uint32_t>(key) & ~(1u << 31); }

// How many polls found nothing new, and whether the wait ended otherwise than by the value.
constexpr uint32_t kMostPolls = (1u << 31) - 1;
SNOOPIE_BOTH uint32_t wait_mask(uint64_t polls, bool given_up) {
    return static_cast<uint32_t>(polls < kMostPolls ? polls : kMostPolls) | (given_up ? 1u << 31 : 0u);
}
SNOOPIE_BOTH uint32_t polls_of(uint32_t mask) { return mask & kMostPolls; }
SNOOPIE_BOTH bool is_given_up(uint32_t mask) { return mask >> 31 != 0; }

// At a branch that leaves a polling loop: whether the lanes that take it stay, and how its own predicate, beside its guard, is meant.
constexpr uint32_t kBranchStays = 1, kPredicateNegated = 2;
SNOOPIE_BOTH bool stays_in_loop(bool guard, bool predicate, uint32_t flags) {
    const bool branches = guard && predicate != ((flags & kPredicateNegated) != 0);
    return branches == ((flags & kBranchStays) != 0);
}

// --- The memory of a device: this struct, directly followed by one byte per 2 MiB page of the address space ---
// Page bytes: 0 = nothing known or this device's own memory, else the slot of the owner, or of one of its objects, + 1. One load and one
// compare settle a local access.
//
// It is at a multiple of kStateAlignment: a page's number as the low half of its address gives, sizeof(ProbeState) on, the page's byte.
//
// What warps write lies in lines of its own, so that what they read stays in the caches near them.
constexpr uint32_t kLine = 128;
constexpr uint64_t kStateAlignment = 1ull << 32;
struct ProbeState {
    // Written once by the host.
    uint64_t* counters;                  // arena that the launches' counters are cut from
    volatile uint64_t* ring;             // pinned host memory; null = no records
    const volatile uint64_t* ring_head;  // pinned host memory, written by the host
    uint64_t ring_limit;                 // units that may be in use for another to be reserved
    uint32_t ring_units;                 // a power of two,
    uint32_t ring_log2;                  // this one
    const BlockFilter* blocks;           // null = all
    uint32_t owners;                     // slots 0 … owners-1 are those of owners, further ones of objects
    uint32_t mark;                       // launch_mark_of this GPU
    uint32_t sample_size;                // records of 1 in so many accesses; >= 1
    // Whether the ring was full when a warp looked. Others take it from their caches, so it can be old; see sampling.cuh.
    uint32_t full;
    uint32_t unknown;  // slot of the unknown owner
    // Of waits; null = they are not recorded.
    WaitSlot* waits;               // one for each warp that can be resident, by multiprocessor
    volatile uint64_t* wait_ring;  // the ring, which they use also where there are no other records

    // Of those who reserve.
    alignas(kLine) unsigned long long tail;
    unsigned long long head_seen;  // latest known ring_head, so that a warp rarely reads host memory
    unsigned int looking;          // a warp is reading ring_head: others do not wait for it

    alignas(kLine) unsigned long long dropped;
    unsigned long long misdirected;  // lanes whose access came with the launch value of another GPU
    unsigned long long waits_dropped;
};
static_assert(sizeof(ProbeState) == 3 * kLine, "the page bytes follow at a fixed offset");
// Behind the page bytes.
constexpr uint32_t kBlockFilter = sizeof(ProbeState) + kPages;
constexpr uint32_t kOwnerBytes = kBlockFilter + sizeof(BlockFilter);  // page byte → that of the owner; changed by the host
constexpr uint32_t kPageBytes = 256;                                  // values that a page byte can have
constexpr uint32_t kCells = kOwnerBytes + kPageBytes;                 // values of launches
constexpr uint32_t kLaunchCellGpus = 64, kCellsOfGpu = 2048;
constexpr uint32_t kPacks = kCells + kLaunchCellGpus * kCellsOfGpu * 8;  // descriptions of packs
static_assert(kPacks % 8 == 0, "the lowest bits of a description's address are 0");

// --- Counters ---
// Lanes of a bulk copy are units of so many bytes.
constexpr uint32_t kBulkUnit = 16;

// A cell of three per (site, slot). A launch's block in the arena covers the ids first_site … last_site of all functions that it can reach,
// and as many slots as its launch value says: what has a higher one counts for the owner.
// Lanes are counted by those that 32 an access would be too many, wire units by those more than full_units an access, modulo 2^64: for
// full warps that access memory side by side both are 0, and there is one counter to add to.
enum Counter : uint32_t { kAccesses, kMissingLanes, kExtraUnits, kCounters };
SNOOPIE_BOTH uint64_t lanes_of(const uint64_t* counters) { return 32 * counters[kAccesses] - counters[kMissingLanes]; }
SNOOPIE_BOTH uint64_t units_of(const uint64_t* counters, uint32_t full) { return full * counters[kAccesses] + counters[kExtraUnits]; }

// With WAITS=on, cells of moments lie behind the slots of a site: when thread blocks accessed foreign memory there, and how often. Each
// cell is of as many neighbouring blocks as there have to be, a power of two. The first time is kept as its complement: so 0 is none, and
// of both times the larger counts.
enum Moment : uint32_t { kFirstTime, kLastTime, kTimedAccesses };
static_assert(uint32_t{kTimedAccesses} < uint32_t{kCounters}, "a cell has room for them");
// How many cells a launch has for each site its slot tells: a power of two.
constexpr uint32_t kLog2SlotsAlike = 12;
constexpr uint32_t kMostLog2TimeCells = 8;
SNOOPIE_BOTH uint32_t time_cells(uint16_t launch_slot) { return 1u << (launch_slot >> kLog2SlotsAlike); }
static_assert(kMostLog2TimeCells < 1u << (16 - kLog2SlotsAlike), "there are slots for each number");
// The first of those that say so.
inline uint32_t first_slot_of(uint32_t cells) {
    uint32_t log2 = 0;
    while (1u << log2 < cells) ++log2;
    return log2 << kLog2SlotsAlike;
}
// Of how many blocks each is.
SNOOPIE_BOTH uint32_t log2_blocks_of_cell(uint64_t blocks, uint32_t cells) {
    uint32_t log2 = 0;
    SNOOPIE_ROLL
    while ((blocks - 1) >> log2 >= cells) ++log2;
    return log2;
}
// Never beyond them, whatever grid the host was told of.
SNOOPIE_BOTH uint32_t time_cell_of(uint64_t block, uint64_t blocks, uint32_t cells) {
    return static_cast<uint32_t>(block >> log2_blocks_of_cell(blocks, cells)) & (cells - 1);
}

// --- Banks ---
// Atomics on one address take turns: on an H200, 0.7 ns each, so a kernel of 2^19 warps that all add to one counter takes 0.4 ms at least.
// So a launch of many thread blocks has its counters kBanks times, as many cells apart as its slot tells, and each multiprocessor adds to
// those of its own bank: eight addresses, 512 bytes apart or more, take 0.1 ms. Slots below kBankedSlots have one bank. Not with WAITS=on,
// where a slot tells the number of time cells.
constexpr uint32_t kBanks = 8;
constexpr uint32_t kBankedSlots = 1u << 15;
constexpr uint32_t kLeastBankCells = 32, kMostBankCells = kLeastBankCells << (kBankedSlots >> kLog2SlotsAlike) >> 1;
SNOOPIE_BOTH uint32_t bank_cells(uint16_t launch_slot) {
    return kLeastBankCells << (launch_slot >> kLog2SlotsAlike) >> (kBankedSlots >> kLog2SlotsAlike) & ~(kLeastBankCells - 1);
}
// The first of those that tell so many cells.
inline uint32_t first_banked_slot(uint32_t cells) {
    uint32_t slot = kBankedSlots;
    while (bank_cells(static_cast<uint16_t>(slot)) < cells) slot += 1u << kLog2SlotsAlike;
    return slot;
}

// --- The launch value: what NVBit hands to every probe of a launch ---
// From the right: 32 bits are the cell where site 0 of the launch's block would be, modulo 2^32; 4 how many slots its sites have beyond
// those of the owners, in steps; 6 are the GPU; 6 a pattern; 16 are the launch's slot. A value that has gone to another GPU's launch would
// count in memory that is not its own: such accesses are counted as misdirected. The pattern tells what is no value at all: a kernel that
// is not measured, and has none, can call a function that others do.
constexpr uint32_t kSlotStep = 4;
constexpr uint32_t kMostSlotSteps = 15;
SNOOPIE_BOTH uint32_t launch_mark_of(uint8_t gpu) { return 0b101101u << 6 | (gpu & 63u); }
SNOOPIE_BOTH uint64_t pack_launch(uint16_t slot, uint8_t gpu, uint32_t steps, uint32_t site_zero) {
    return static_cast<uint64_t>(slot) << 48 | static_cast<uint64_t>(launch_mark_of(gpu)) << 36 | static_cast<uint64_t>(steps) << 32 |
           site_zero;
}
// A launch whose accesses are not counted: instrumented code that runs without counters of its own.
constexpr uint64_t kLaunchUncounted = 0;
SNOOPIE_BOTH uint16_t launch_slot(uint64_t launch) { return static_cast<uint16_t>(launch >> 48); }
SNOOPIE_BOTH uint32_t launch_mark(uint64_t launch) { return static_cast<uint32_t>(launch >> 36) & 0xfff; }
SNOOPIE_BOTH bool is_launch(uint32_t mark) { return mark >> 6 == launch_mark_of(0) >> 6; }
// In its place a kernel can have the value of a cell for good: where in the memory of the GPU its launches' own values are, below a word
// that no launch has. Each GPU reads from its own memory, and has cells there for all of them: in those of the others is a value of theirs.
constexpr uint32_t kCellWord = 0x05ca1ab1;
static_assert((kCellWord >> 4 & 0xfff) >> 6 != 0b101101, "no launch has it");
SNOOPIE_BOTH bool is_launch_cell(uint64_t launch) { return launch >> 32 == kCellWord; }
SNOOPIE_BOTH uint32_t cell_place(uint8_t gpu, uint32_t cell) { return kCells + (gpu % kLaunchCellGpus * kCellsOfGpu + cell) * 8; }
SNOOPIE_BOTH uint64_t pack_launch_cell(uint8_t gpu, uint32_t cell) {
    return static_cast<uint64_t>(kCellWord) << 32 | cell_place(gpu, cell);
}
SNOOPIE_BOTH uint32_t launch_slots(uint64_t launch, uint32_t owners) {
    return owners + (static_cast<uint32_t>(launch >> 32) & kMostSlotSteps) * kSlotStep;
}
// `cells`: of each site.
SNOOPIE_BOTH uint32_t cell_of(uint64_t launch, uint32_t site, uint32_t cells, uint32_t cell) {
    return static_cast<uint32_t>(launch) + site * cells + cell;
}

// --- The site word: id, whether its wire units are the larger ones, and log2 of the width ---
// A wire unit is what a link moves of memory at a time, all of it or nothing: aligned, and at least as large as what a lane accesses.
constexpr uint8_t kReadUnit = 32;
constexpr uint8_t kWriteUnit = 16;
constexpr uint32_t kLog2WriteUnit = 4;
constexpr uint32_t kMaxSiteId = (1u << 27) - 1;
constexpr uint32_t kLargeUnits = 27;  // place of the bit
SNOOPIE_BOTH uint32_t pack_site(uint32_t id, uint32_t log2_width, uint32_t unit) {
    return id | (unit > kWriteUnit ? 1u : 0u) << kLargeUnits | log2_width << (kLargeUnits + 1);
}
constexpr uint8_t log2_of_width(uint8_t width) {
    uint8_t log2 = 0;
    while (1u << (log2 + 1) <= width) ++log2;
    return log2;
}
SNOOPIE_BOTH uint32_t site_id(uint32_t word) { return word & kMaxSiteId; }
SNOOPIE_BOTH uint32_t site_width(uint32_t word) { return 1u << (word >> (kLargeUnits + 1)); }
SNOOPIE_BOTH uint32_t large_units(uint32_t word) { return word >> kLargeUnits & 1; }
SNOOPIE_BOTH uint32_t log2_of_unit(uint32_t word) { return kLog2WriteUnit + large_units(word); }
// Wire units of 32 lanes side by side, of which the first begins one.
SNOOPIE_BOTH uint32_t full_units(uint32_t word) { return 32 * site_width(word) >> log2_of_unit(word); }

// --- A pack: several accesses that share a call ---
// Its probe gets the pairs of registers from which the addresses are made, and a word: where the pack's description is, and a margin that
// no access is farther than from what its pair holds. If the pages that the pairs point into are not foreign, and no pair points closer
// than the margin to a border of its page, there is nothing to do. Else the description is looked at: two words for each access, of which
// the second is its site word, and the first has the immediate, the pair, whether the access is guarded, by a negated guard, and the last
// one.
constexpr uint32_t kMostPacked = 16;
constexpr uint32_t kMostPairs = 4;
constexpr uint32_t kLog2PackWords = 20;
// The margin is kept in units of 64 bytes and read with one shift, which leaves part of the place as a fraction: it may be too large.
constexpr uint32_t kLog2MarginUnit = 6;
constexpr uint32_t kMaxPackMargin = ((1u << (32 - kLog2PackWords)) - 1) << kLog2MarginUnit;
SNOOPIE_BOTH uint32_t pack_word(uint32_t place, uint32_t margin) {
    return place | (margin + (1u << kLog2MarginUnit) - 1) >> kLog2MarginUnit << kLog2PackWords;
}
SNOOPIE_BOTH uint32_t packed_place(uint32_t word) { return word & ((1u << kLog2PackWords) - 1); }
SNOOPIE_BOTH uint32_t packed_margin(uint32_t word) { return word >> (kLog2PackWords - kLog2MarginUnit); }

constexpr uint32_t kPackedGuarded = 4, kPackedNegated = 2, kPackedLast = 1;
SNOOPIE_BOTH uint32_t pack_access(int32_t immediate, uint32_t pair, uint32_t flags) {
    return static_cast<uint32_t>(immediate) << 8 | pair << 3 | flags;
}
SNOOPIE_BOTH int32_t packed_immediate(uint32_t word) { return static_cast<int32_t>(word) >> 8; }
SNOOPIE_BOTH uint32_t packed_pair(uint32_t word) { return word >> 3 & 3; }
// `guard`: whether the predicate itself holds.
SNOOPIE_BOTH bool packed_executes(uint32_t word, bool guard) { return !(word & kPackedGuarded) || guard != ((word & kPackedNegated) != 0); }

}  // namespace snoopie
