// Waits: what a probe decides at a branch, how a record carries a wait, and how the host adds them up. And moments of accesses: which cell
// a block has, and what its values say.
#include <algorithm>
#include <vector>

#include "check.h"
#include "launches/moments.h"
#include "launches/wait_sums.h"
#include "probe/probe_abi.h"
#include "probe/record_ring.h"

using namespace snoopie;

namespace {

void who_stays() {
    // @!P0 BRA back: stays if it branches.
    CHECK(stays_in_loop(true, true, kBranchStays));
    CHECK(!stays_in_loop(false, true, kBranchStays));
    // @P0 BRA out.
    CHECK(!stays_in_loop(true, true, 0));
    CHECK(stays_in_loop(false, true, 0));
    // @!P0 BRA P1, back, and BRA !P1, back.
    CHECK(stays_in_loop(true, true, kBranchStays));
    CHECK(!stays_in_loop(true, false, kBranchStays));
    CHECK(stays_in_loop(true, false, kBranchStays | kPredicateNegated));
    CHECK(!stays_in_loop(true, true, kBranchStays | kPredicateNegated));
}

void keys_and_masks() {
    const uint64_t key = wait_key(65535, kMaxSiteId, 63);
    CHECK_EQ(wait_slot_of(key), 65535);
    CHECK_EQ(wait_site_of(key), kMaxSiteId);
    CHECK_EQ(static_cast<int>(wait_warp_of(key)), 63);
    CHECK(wait_key(0, 0, 0) != 0);
    CHECK_EQ(polls_of(wait_mask(17, true)), 17u);
    CHECK(is_given_up(wait_mask(17, true)) && !is_given_up(wait_mask(17, false)));
    CHECK_EQ(polls_of(wait_mask(1ull << 40, false)), kMostPolls);
}

// As a probe writes it.
void through_the_ring() {
    constexpr uint64_t kUnits = 8;
    std::vector<uint64_t> memory(kUnits * kWordsPerUnit, 0);
    uint64_t head_seen = 0;
    RecordRing ring(memory.data(), kUnits, &head_seen);
    RecordHead head{};
    head.time = 1790000000123456789ull;
    head.base = 0x7f0000000040;
    head.stride = 5'000'000'000;
    head.block = 3;
    head.site = 9;
    head.mask = wait_mask(1000, true);
    head.slot = 4;
    head.warp = 2;
    head.shape = RecordShape::wait;
    for (uint32_t word = 0; word < kHeadWords; ++word) memory[word] = head_word(head, word) | lap_stamp(0, 3);
    RawRecord record;
    CHECK(ring.take(&record));
    CHECK(record.head.shape == RecordShape::wait);
    CHECK_EQ(record.head.time, head.time);
    CHECK_EQ(record.head.stride, head.stride);
    CHECK_EQ(record.head.base, head.base);
    CHECK_EQ(polls_of(record.head.mask), 1000u);
    CHECK_EQ(ring.head(), kUnitsStrided);
}

void sums() {
    WaitSums waits;
    CHECK(waits.empty());
    waits.add({1, 0, 64, 100, 300, 5, false}, {0, 7});
    waits.add({1, 0, 68, 400, 450, 2, true}, {0, 7});
    // Another block, another object, another poll.
    waits.add({1, 1, 64, 100, 101, 1, false}, {0, 7});
    waits.add({1, 0, 640, 100, 101, 1, false}, {1, 0});
    waits.add({2, 0, 64, 100, 101, 1, false}, {0, 7});
    const std::vector<WaitRow> rows = waits.take(12);
    CHECK_EQ(rows.size(), 4u);
    const WaitRow& first = rows.front();
    CHECK_EQ(first.launch, 12u);
    CHECK_EQ(first.site, 1u);
    CHECK_EQ(first.block, 0u);
    CHECK_EQ(first.blocks, 1u);
    CHECK_EQ(first.object, 7u);
    CHECK_EQ(first.address, 68u);
    CHECK_EQ(first.waits, 2u);
    CHECK_EQ(first.given_up, 1u);
    CHECK_EQ(first.polls, 7u);
    CHECK_EQ(first.first, 100u);
    CHECK_EQ(first.last, 450u);
    CHECK_EQ(first.waited, 250u);
    CHECK_EQ(first.longest, 200u);
    CHECK(waits.empty() && waits.take(13).empty());
}

// However many blocks wait, the rows stay few and lose nothing.
void many_blocks() {
    WaitSums waits;
    constexpr uint64_t kBlocks = 3 * WaitSums::kMostRows + 5;
    for (uint64_t block = 0; block < kBlocks; ++block) waits.add({1, block, 64, block, block + 10, 1, false}, {0, 7});
    const std::vector<WaitRow> rows = waits.take(1);
    CHECK(rows.size() <= WaitSums::kMostRows);
    uint64_t sum = 0, next = 0;
    for (const WaitRow& row : rows) {
        CHECK_EQ(row.blocks, 4u);
        CHECK_EQ(row.block, next);
        next += row.blocks;
        sum += row.waits;
    }
    CHECK_EQ(sum, kBlocks);
    // The next launch begins anew.
    waits.add({1, 1, 64, 0, 1, 1, false}, {0, 7});
    CHECK_EQ(waits.take(2).front().blocks, 1u);
}

// What the block's rows add up to is the time in which any of its warps waited.
void held() {
    WaitSums waits;
    const auto take = [&] {
        std::vector<uint64_t> held;
        for (const WaitRow& row : waits.take(1)) held.push_back(row.held);
        return held;
    };
    using Held = std::vector<uint64_t>;
    // Two warps at once, one that begins before they are done, one later; of two blocks each has its own.
    for (const uint64_t block : {0, 1}) {
        waits.add({1, block, 64, 100, 200, 1, false}, {0, 7});
        waits.add({1, block, 64, 100, 200, 1, false}, {0, 7});
        waits.add({2, block, 64, 150, 260, 1, false}, {0, 7});
        waits.add({1, block, 64, 300, 310, 1, false}, {0, 7});
    }
    CHECK(take() == (Held{110, 110, 60, 60}));
    // One within another that is known already.
    waits.add({1, 0, 64, 100, 200, 1, false}, {0, 7});
    waits.add({2, 0, 64, 120, 180, 1, false}, {0, 7});
    CHECK(take() == (Held{100, 0}));
    // The next launch begins anew.
    waits.add({1, 0, 64, 0, 50, 1, false}, {0, 7});
    CHECK(take() == Held{50});
    // Of blocks that are told apart here, but not when they move.
    WaitSums pairs(1);
    for (const uint64_t block : {0, 1, 2}) pairs.add({1, block, 64, 100, 200 + block, 1, false}, {0, 7});
    uint64_t sum = 0;
    for (const WaitRow& row : pairs.take(1)) sum += row.held;
    CHECK_EQ(sum, 101u + 102u);
}

// --- Moments ---

void cells_for_launches() {
    constexpr uint64_t kAny = 1 << 20;
    CHECK_EQ(time_cells_for(1, kAny), 1u);
    CHECK_EQ(time_cells_for(132, kAny), 256u);
    CHECK_EQ(time_cells_for(uint64_t{1} << 40, kAny), 1u << kMostLog2TimeCells);
    // What is affordable; one in any case.
    CHECK_EQ(time_cells_for(132, 255), 128u);
    CHECK_EQ(time_cells_for(132, 0), 1u);
    // The slot says it.
    for (uint32_t cells = 1; cells <= 1u << kMostLog2TimeCells; cells *= 2) {
        const uint32_t first = first_slot_of(cells);
        CHECK_EQ(time_cells(static_cast<uint16_t>(first)), cells);
        CHECK_EQ(time_cells(static_cast<uint16_t>(first + (1 << kLog2SlotsAlike) - 1)), cells);
    }
}

// As a probe notes an access.
void note(std::vector<uint64_t>* values, uint64_t block, uint64_t blocks, uint32_t cells, uint64_t now) {
    uint64_t* const own = values->data() + time_cell_of(block, blocks, cells) * kCounters;
    own[kFirstTime] = std::max(own[kFirstTime], ~now);
    own[kLastTime] = std::max(own[kLastTime], now);
    ++own[kTimedAccesses];
}

void blocks_in_cells() {
    for (const uint64_t blocks : {1, 2, 31, 32, 33, 132, 1000, 65536, 65537}) {
        for (const uint64_t affordable : {0, 16, 256}) {
            const uint32_t cells = time_cells_for(blocks, affordable);
            const uint32_t log2_blocks = log2_blocks_of_cell(blocks, cells);
            std::vector<uint64_t> values(cells * kCounters, 0);
            // Every other block accesses twice, the later ones first.
            for (uint64_t block = 0; block < blocks; block += 2) {
                note(&values, block, blocks, cells, 1'000'000'000 - block);
                note(&values, block, blocks, cells, 2'000'000'000 - block);
            }
            std::vector<MoveRow> rows;
            add_moves(3, 9, values.data(), cells, log2_blocks, &rows);
            uint64_t accesses = 0;
            for (const MoveRow& row : rows) {
                CHECK_EQ(row.launch, 3u);
                CHECK_EQ(row.site, 9u);
                CHECK_EQ(row.blocks, uint64_t{1} << log2_blocks);
                const uint64_t end = std::min<uint64_t>(row.block + row.blocks, blocks);
                const uint64_t first = row.block + row.block % 2, last = end - 1 - (end - 1) % 2;
                CHECK_EQ(row.first, 1'000'000'000 - last);
                CHECK_EQ(row.last, 2'000'000'000 - first);
                CHECK_EQ(row.accesses, 2 * ((last - first) / 2 + 1));
                accesses += row.accesses;
            }
            CHECK_EQ(accesses, 2 * ((blocks + 1) / 2));
            if (affordable >= blocks) CHECK_EQ(rows.size(), (blocks + 1) / 2);
        }
    }
    // A grid that is larger than the host was told of.
    CHECK(time_cell_of(1000, 8, 4) < 4);
    std::vector<MoveRow> none;
    add_moves(1, 1, nullptr, 0, 0, &none);
    CHECK(none.empty());
}

}  // namespace

int main() {
    who_stays();
    keys_and_masks();
    through_the_ring();
    sums();
    many_blocks();
    held();
    cells_for_launches();
    blocks_in_cells();
    return test::summary("waits");
}
