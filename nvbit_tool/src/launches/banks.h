// A launch whose thread blocks run on many multiprocessors has its counters several times; see bank_cells in probe_abi.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "probe/probe_abi.h"

namespace snoopie {

// With fewer thread blocks, few warps meet at a counter.
constexpr uint64_t kBlocksForBanks = 4 * kBanks;

// How many cells the banks of a launch are apart, whose block has `size` cells; 0 = it has one bank. `affordable`: cells for all of them.
inline uint32_t bank_cells_for(uint64_t size, uint64_t blocks, uint64_t affordable) {
    if (blocks < kBlocksForBanks) return 0;
    uint64_t cells = kLeastBankCells;
    while (cells < size) cells *= 2;
    return cells <= kMostBankCells && kBanks * cells <= affordable ? static_cast<uint32_t>(cells) : 0;
}

// Cells of a launch whose block has `size`, with all banks.
inline uint64_t cells_of_banks(uint64_t size, uint32_t bank_cells) { return size + uint64_t{kBanks - 1} * bank_cells; }

// Adds all banks to the first.
inline void fold_banks(uint64_t size, uint32_t bank_cells, uint64_t* values) {
    if (bank_cells == 0) return;
    for (uint64_t bank = 1; bank < kBanks; ++bank) {
        const uint64_t* const own = values + bank * bank_cells * kCounters;
        std::transform(values, values + size * kCounters, own, values, [](uint64_t sum, uint64_t value) { return sum + value; });
    }
}

}  // namespace snoopie
