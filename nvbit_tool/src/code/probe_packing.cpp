#include "code/probe_packing.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace snoopie {

namespace {

// Places before instructions, both included.
struct Interval {
    size_t first;
    size_t last;
};

bool changes(const SassEffect& effect, const PackableAccess& access) {
    const auto reg = static_cast<size_t>(access.reg);
    const bool guard = access.guard != SassLine::kAlways && (effect.predicates >> access.guard & 1);
    return effect.unknown || guard || effect.registers[reg] || effect.registers[reg + 1];
}

Interval interval_of(const std::vector<SassEffect>& effects, const std::vector<bool>& begins, const PackableAccess& access) {
    Interval places{access.instruction, access.instruction};
    while (!begins[places.first] && !changes(effects[places.first - 1], access)) --places.first;
    while (places.last + 1 < effects.size() && !begins[places.last + 1] && !changes(effects[places.last], access)) ++places.last;
    return places;
}

}  // namespace

std::vector<Pack> pack_accesses(const std::vector<SassEffect>& effects, const std::vector<bool>& begins,
                                const std::vector<PackableAccess>& accesses, size_t most) {
    std::vector<Pack> packs;
    if (most == 1 || begins.empty()) {
        for (size_t i = 0; i < accesses.size(); ++i) packs.push_back({accesses[i].instruction, {i}});
        return packs;
    }
    std::map<size_t, std::vector<size_t>> by_block;
    std::vector<Interval> intervals;
    for (size_t i = 0; i < accesses.size(); ++i) {
        size_t block = accesses[i].instruction;
        while (!begins[block]) --block;
        by_block[block].push_back(i);
        intervals.push_back(interval_of(effects, begins, accesses[i]));
    }
    for (auto& [block, members] : by_block) {
        std::stable_sort(members.begin(), members.end(), [&](size_t a, size_t b) { return intervals[a].last < intervals[b].last; });
        std::vector<bool> done(members.size(), false);
        for (size_t k = 0; k < members.size(); ++k) {
            if (done[k]) continue;
            // The last place for this access is as good as any for it, and best for the others.
            const size_t last = intervals[members[k]].last;
            Pack pack;
            const PackableAccess* guarded = nullptr;
            size_t first = 0;
            for (size_t j = k; j < members.size() && pack.accesses.size() < most; ++j) {
                const PackableAccess& access = accesses[members[j]];
                if (done[j] || access.group != accesses[members[k]].group || intervals[members[j]].first > last) continue;
                if (guarded && access.guarded() && !access.same_guard(*guarded)) continue;
                done[j] = true;
                if (access.guarded()) guarded = &access;
                pack.accesses.push_back(members[j]);
                first = std::max(first, intervals[members[j]].first);
            }
            std::sort(pack.accesses.begin(), pack.accesses.end());
            // As late as the first access, but not behind it: registers are saved by the call, and those that a load will fill would have
            // to be waited for.
            pack.instruction = std::min(std::max(first, accesses[pack.accesses.front()].instruction), last);
            packs.push_back(pack);
        }
    }
    std::sort(packs.begin(), packs.end(),
              [](const Pack& a, const Pack& b) { return std::tie(a.instruction, a.accesses) < std::tie(b.instruction, b.accesses); });
    return packs;
}

}  // namespace snoopie
