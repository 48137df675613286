// Which accesses share an injected call.
//
// The call, which saves and restores registers, is what a probe costs; what it does for one more address is little. The addresses of an
// access are known wherever its registers hold what they hold at the access: from behind their last definition to their next one, within
// the basic block, where the same lanes run. Each access is an interval of places, and the fewest places that meet every interval are the
// calls. Accesses to one array are a group: a launch may need the call of some arrays and not of others.
#pragma once

#include <cstddef>
#include <vector>

#include "code/sass.h"

namespace snoopie {

// An access whose address is a pair of registers and an immediate.
struct PackableAccess {
    size_t instruction = 0;  // index in the function
    int reg = 0;             // the pair's first
    int guard = SassLine::kAlways;
    bool guard_negated = false;
    int group = 0;  // only accesses of one group share a call

    bool guarded() const { return guard != SassLine::kAlways || guard_negated; }
    bool same_guard(const PackableAccess& other) const { return guard == other.guard && guard_negated == other.guard_negated; }
};

struct Pack {
    size_t instruction = 0;        // the call comes before it
    std::vector<size_t> accesses;  // indices, in order of their instructions; one or more
};

// `effects` and `begins`: of all instructions of the function, as in a Listing. At most `most` accesses share a call; those that are
// guarded have one guard.
std::vector<Pack> pack_accesses(const std::vector<SassEffect>& effects, const std::vector<bool>& begins,
                                const std::vector<PackableAccess>& accesses, size_t most);

}  // namespace snoopie
