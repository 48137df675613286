#include "code/pack_words.h"

#include <algorithm>
#include <cstdlib>

#include "trace/site_word.h"

namespace snoopie {

bool fits_pack(int immediate) { return static_cast<uint32_t>(std::abs(immediate)) <= kMaxPackMargin; }

PackWords pack_words(const PlannedCall& call, const ProbePlan& plan, const std::vector<Instruction>& instructions, uint32_t first_site) {
    PackWords words;
    for (const size_t i : call.probes) {
        const Probe& probe = plan.probes[i];
        const PlannedSite& planned = plan.sites[probe.site];
        const MemoryReference& reference = instructions[planned.instruction].references[probe.reference];
        const auto place = static_cast<uint32_t>(std::find(words.pairs.begin(), words.pairs.end(), reference.reg) - words.pairs.begin());
        if (place == words.pairs.size()) words.pairs.push_back(reference.reg);
        words.margin = std::max(words.margin, static_cast<uint32_t>(std::abs(reference.immediate)));
        uint32_t flags = i == call.probes.back() ? kPackedLast : 0;
        if (probe.guarded) flags |= kPackedGuarded | (call.guard_negated ? kPackedNegated : 0);
        words.description.push_back(pack_access(reference.immediate, place, flags));
        words.description.push_back(
            site_word(first_site + static_cast<uint32_t>(probe.site), planned.opcode.operation, planned.opcode.width));
    }
    return words;
}

}  // namespace snoopie
