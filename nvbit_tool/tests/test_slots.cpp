// The table of slots: which objects have one, for how long, and what a launch's counters mean. The banks that these lie in.
#include <numeric>
#include <vector>

#include "check.h"
#include "launches/banks.h"
#include "launches/slots.h"

using namespace snoopie;

namespace {

constexpr OwnerSlots kOwners{2, 0};  // GPUs 0 and 1, host, unknown
constexpr uint32_t kFirst = kOwners.count();
constexpr uint64_t kCells = 2048;

void objects_take_slots() {
    SlotTable table(kOwners, 3);
    CHECK_EQ(int{table.slot(1, 0)}, 1);
    CHECK_EQ(int{table.slot(1, 10)}, int{kFirst});
    CHECK_EQ(int{table.slot(kOwnerHost, 11)}, int{kFirst + 1});
    CHECK_EQ(int{table.slot(1, 10)}, int{kFirst});  // its pages are told piece by piece
    // Managed memory of which a part has moved: one object of two owners.
    CHECK_EQ(int{table.slot(0, 11)}, int{kFirst + 2});
    CHECK_EQ(int{table.slot(1, 12)}, 1);  // none is left
    CHECK_EQ(int{table.owner(kFirst)}, 1);
    CHECK_EQ(int{table.owner(kFirst + 1)}, int{kOwnerHost});
    CHECK_EQ(int{table.owner(2)}, int{kOwnerHost});
    CHECK_EQ(int{table.owner(200)}, int{kOwnerUnknown});

    const auto launch = table.board(10, kCells);
    CHECK_EQ(launch.slots, kFirst + kSlotStep);
    const auto targets = table.targets(launch);
    CHECK_EQ(targets.size(), size_t{launch.slots});
    const std::vector<std::pair<int, uint32_t>> expected = {{0, 0}, {1, 0}, {254, 0}, {255, 0}, {1, 10}, {254, 11}, {0, 11}};
    for (size_t slot = 0; slot < expected.size(); ++slot) {
        CHECK_EQ(int{targets[slot].owner}, expected[slot].first);
        CHECK_EQ(targets[slot].object, expected[slot].second);
    }
}

void without_objects() {
    SlotTable table(kOwners, 0);
    CHECK_EQ(int{table.slot(1, 10)}, 1);
    CHECK_EQ(table.board(1, kCells).slots, kFirst);
    SlotTable most(OwnerSlots{kMaxGpus, kMaxSets}, 1000);
    uint8_t last = 0;
    for (uint32_t object = 1; object <= 1000; ++object) last = std::max(last, most.slot(0, object));
    CHECK(last + 1 <= 255);  // as a page byte
    CHECK_EQ(most.board(1, kCells).slots, OwnerSlots({kMaxGpus, kMaxSets}).count() + SlotTable::kMostObjects);
}

void launches_in_flight_keep_slots() {
    SlotTable table(kOwners, 1);
    const auto before = table.board(1, kCells);
    CHECK_EQ(int{table.slot(1, 10)}, int{kFirst});
    const auto during = table.board(1, kCells), also = table.board(1, kCells);
    table.retire(10);
    const auto after = table.board(1, kCells);
    CHECK_EQ(after.slots, kFirst);  // nothing to tell apart

    CHECK_EQ(int{table.slot(1, 11)}, 1);  // the first object's launches are in flight
    CHECK_EQ(table.targets(during)[kFirst].object, 10u);
    table.land(during.moment);
    CHECK_EQ(int{table.slot(1, 11)}, 1);
    table.land(before.moment);
    CHECK_EQ(int{table.slot(1, 11)}, 1);
    CHECK_EQ(table.targets(also)[kFirst].object, 10u);
    CHECK_EQ(int{table.owner(kFirst)}, 1);
    table.land(also.moment);
    CHECK_EQ(int{table.slot(kOwnerHost, 12)}, int{kFirst});  // `after` cannot have counted in it
    const auto later = table.board(1, kCells);
    CHECK_EQ(table.targets(later)[kFirst].object, 12u);
    CHECK_EQ(int{table.targets(later)[kFirst].owner}, int{kOwnerHost});
}

// The memory of an object that was freed in stream order is another's while kernels that use the first one have not begun.
void launches_know_objects_that_came_before() {
    SlotTable table(kOwners, 8);
    table.slot(1, 10);
    const auto launch = table.board(1, kCells);
    CHECK_EQ(launch.slots, kFirst + kSlotStep);
    const uint8_t slot = table.slot(1, 11);
    const auto targets = table.targets(launch);
    CHECK_EQ(targets[kFirst].object, 10u);
    CHECK_EQ(targets[slot].object, 0u);
    CHECK_EQ(int{targets[slot].owner}, 1);
    std::vector<uint64_t> counters(launch.slots * kCounters);
    std::iota(counters.begin(), counters.end(), 100);
    counters[slot * kCounters + kMissingLanes] = 0 - 8ull;
    fold_untold(targets, kOwners, counters.data());
    const uint32_t own = 1;
    CHECK_EQ(counters[own * kCounters + kAccesses], 100 + own * kCounters + 100 + slot * kCounters);
    CHECK_EQ(counters[own * kCounters + kMissingLanes], 100 + own * kCounters + 1 - 8);
    CHECK_EQ(counters[slot * kCounters + kAccesses], 0u);
    CHECK_EQ(counters[kFirst * kCounters + kAccesses], 100 + kFirst * kCounters);  // told apart
}

void large_kernels_get_fewer_slots() {
    SlotTable table(kOwners, 60);
    for (uint32_t object = 1; object <= 60; ++object) table.slot(1, object);
    const auto slots = [&](uint32_t sites, uint64_t cells) { return table.board(sites, cells).slots; };
    CHECK_EQ(slots(10, kCells), kFirst + 60);
    CHECK_EQ(slots(100, kCells), kFirst + 16);  // 20 slots × 100 sites
    CHECK_EQ(slots(100000, kCells), kFirst);
    CHECK_EQ(slots(10, 0), kFirst);
    for (uint32_t object = 2; object <= 60; ++object) table.retire(object);
    CHECK_EQ(slots(10, kCells), kFirst + kSlotStep);
}

// --- Banks of a launch's counters ---

void banks_where_many_blocks_meet() {
    constexpr uint64_t kAny = 1 << 20;
    CHECK_EQ(bank_cells_for(20, 1, kAny), 0u);
    CHECK_EQ(bank_cells_for(20, kBlocksForBanks, kAny), kLeastBankCells);
    CHECK_EQ(bank_cells_for(kLeastBankCells, 1000, kAny), kLeastBankCells);
    CHECK_EQ(bank_cells_for(kLeastBankCells + 1, 1000, kAny), 2 * kLeastBankCells);
    CHECK_EQ(bank_cells_for(kMostBankCells, 1000, kAny), kMostBankCells);
    CHECK_EQ(bank_cells_for(kMostBankCells + 1, 1000, kAny), 0u);
    CHECK_EQ(bank_cells_for(20, 1000, kBanks * kLeastBankCells - 1), 0u);  // not affordable
    CHECK_EQ(cells_of_banks(20, 0), 20u);
    CHECK_EQ(cells_of_banks(20, 32), 7 * 32 + 20u);
}

void slots_tell_how_far_banks_are_apart() {
    constexpr uint32_t kAlike = 1 << kLog2SlotsAlike;
    for (uint32_t slot = 0; slot < kBankedSlots; slot += kAlike) CHECK_EQ(bank_cells(static_cast<uint16_t>(slot + kAlike - 1)), 0u);
    uint32_t slot = kBankedSlots;
    for (uint32_t cells = kLeastBankCells; cells <= kMostBankCells; cells *= 2, slot += kAlike) {
        CHECK_EQ(first_banked_slot(cells), slot);
        CHECK_EQ(bank_cells(static_cast<uint16_t>(slot)), cells);
        CHECK_EQ(bank_cells(static_cast<uint16_t>(slot + kAlike - 1)), cells);
    }
    CHECK_EQ(slot, 1u << 16);
}

// Each bank adds to cells of its own; together they are what one bank has.
void banks_add_up() {
    for (const uint64_t size : {1, 20, 32, 33, 500}) {
        for (const uint64_t blocks : {1, 1000}) {
            const uint32_t apart = bank_cells_for(size, blocks, 1 << 20);
            std::vector<uint64_t> values(cells_of_banks(size, apart) * kCounters), sums(size * kCounters);
            for (uint64_t access = 0; access < 4000; ++access) {
                const uint64_t sm = access % 132, counter = access * 7 % sums.size(), lanes = access % 3 ? 1 : 0 - uint64_t{5};
                values.at(sm % kBanks * apart * kCounters + counter) += lanes;
                sums[counter] += lanes;
            }
            fold_banks(size, apart, values.data());
            values.resize(sums.size());
            CHECK(values == sums);
        }
    }
}

}  // namespace

int main() {
    objects_take_slots();
    without_objects();
    launches_in_flight_keep_slots();
    launches_know_objects_that_came_before();
    large_kernels_get_fewer_slots();
    banks_where_many_blocks_meet();
    slots_tell_how_far_banks_are_apart();
    banks_add_up();
    return test::summary("slots");
}
