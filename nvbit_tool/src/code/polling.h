// Where a kernel waits: loops that load the same word until it has changed.
//
// A loop polls if it does nothing that others could see, and is left by a branch whose condition is made of what it loads, each time
// around, from one address. Programs write that in many ways (volatile, ld.acquire, atomicCAS of a signal, nanosleep between, a timeout,
// unrolled), and NCCL's flags and steps, NVSHMEM's waits, symmetric memory's signal pads and the barriers of cooperative grids are all of
// them. Loads that the compiler could have moved out of the loop are none, nor loops that each time around try to put something in the
// place of what they have found there.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "code/listing.h"

namespace snoopie {

struct Poll {
    // The loads or atomics, by their indices in the function; of an unrolled loop several, all of one address.
    std::vector<size_t> loads;
    // Branches that a load decides. Lanes that go on in the loop are those that branch, or those that do not.
    struct Exit {
        size_t instruction = 0;
        bool branch_stays = false;
    };
    std::vector<Exit> exits;
    // The loop's extent: the first instruction and the one behind the last, as they stand in the code.
    size_t begin = 0;
    size_t end = 0;
};

// What a branch asks beside its guard: P1 of "@!P0 BRA P1, 0x40".
struct BranchPredicate {
    int number = 0;
    bool uniform = false;
    bool negated = false;
};
std::optional<BranchPredicate> branch_predicate(const SassLine& line);

// In the order of their first loads; no load is in two.
std::vector<Poll> find_polls(const Listing& listing);

}  // namespace snoopie
