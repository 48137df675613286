// What the probe of a pack is told: by its arguments what decides, nearly always, that all accesses are local, and by words in the device's
// memory the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "code/probe_plan.h"

namespace snoopie {

struct PackWords {
    std::vector<int> pairs;             // first registers, in the order of the accesses
    uint32_t margin = 0;                // bytes, see pack_word
    std::vector<uint32_t> description;  // see probe_abi.h
};

// `first_site`: the id of the function's first site. The call has more than one probe.
PackWords pack_words(const PlannedCall& call, const ProbePlan& plan, const std::vector<Instruction>& instructions, uint32_t first_site);

// Whether an access with this immediate can be in a pack.
bool fits_pack(int immediate);

}  // namespace snoopie
