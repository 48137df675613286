#include "pack_words.h"

#include <algorithm>

#include "probe_abi.h"

namespace snoopie {

namespace {

uint32_t log2_of_span(int lowest, int highest) {
    uint32_t log2 = 0;
    while ((1 << log2) - 1 < highest - lowest) ++log2;
    return log2;
}

}  // namespace

bool spans_pack(int lowest, int highest) {
    const auto fits = [](int immediate) { return immediate >= -(1 << 23) && immediate < 1 << 23; };
    return fits(lowest) && fits(highest) && log2_of_span(lowest, highest) <= kMaxLog2Span;
}

PackWords pack_words(const PlannedCall& call, const ProbePlan& plan, const std::vector<Instruction>& instructions, uint32_t first_site) {
    PackWords words;
    std::vector<std::pair<int, int>> spans;
    size_t site = plan.probes[call.probes.front()].site;
    const bool negated = call.guard != SassLine::kAlways && call.guard_negated;
    words.description = {pack_site(first_site + static_cast<uint32_t>(site), negated), static_cast<uint32_t>(call.probes.size())};
    for (const size_t i : call.probes) {
        const Probe& probe = plan.probes[i];
        const PlannedSite& planned = plan.sites[probe.site];
        const MemoryReference& reference = instructions[planned.instruction].references[probe.reference];
        const auto place = static_cast<size_t>(std::find(words.pairs.begin(), words.pairs.end(), reference.reg) - words.pairs.begin());
        if (place == words.pairs.size()) {
            words.pairs.push_back(reference.reg);
            spans.emplace_back(reference.immediate, reference.immediate);
        }
        spans[place] = {std::min(spans[place].first, reference.immediate), std::max(spans[place].second, reference.immediate)};
        words.description.push_back(pack_access(reference.immediate, log2_of_width(planned.opcode.width), static_cast<uint32_t>(place),
                                                probe.guarded, static_cast<uint32_t>(probe.site - site)));
        site = probe.site;
    }
    for (const auto& [lowest, highest] : spans) words.pair_words.push_back(pack_pair(lowest, log2_of_span(lowest, highest)));
    return words;
}

}  // namespace snoopie
