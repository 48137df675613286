// Waits: what a probe decides at a branch, how a record carries a wait, and how the host adds them up.
#include <vector>

#include "check.h"
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

}  // namespace

int main() {
    who_stays();
    keys_and_masks();
    through_the_ring();
    sums();
    many_blocks();
    return test::summary("waits");
}
