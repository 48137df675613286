// When thread blocks of a launch accessed foreign memory: how many cells of moments it gets for each site, and what is in them afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/probe_abi.h"
#include "trace/schema.h"

namespace snoopie {

// Enough for a cell a block, if so many are affordable; never none.
inline uint32_t time_cells_for(uint64_t blocks, uint64_t affordable) {
    uint32_t log2 = 0;
    while (log2 < kMostLog2TimeCells && uint64_t{1} << log2 < blocks && uint64_t{2} << log2 <= affordable) ++log2;
    return 1u << log2;
}

// The rows of a site, from the values of its cells, each of 2^log2_blocks blocks.
inline void add_moves(uint32_t launch, uint32_t site, const uint64_t* values, uint32_t cells, uint32_t log2_blocks,
                      std::vector<MoveRow>* rows) {
    for (uint64_t cell = 0; cell < cells; ++cell, values += kCounters)
        if (values[kTimedAccesses])
            rows->push_back(
                {launch, site, cell << log2_blocks, u8{1} << log2_blocks, values[kTimedAccesses], ~values[kFirstTime], values[kLastTime]});
}

}  // namespace snoopie
