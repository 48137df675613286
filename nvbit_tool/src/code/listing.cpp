#include "code/listing.h"

#include <algorithm>

namespace snoopie {

Listing listing_of(const std::vector<uint32_t>& offsets, const std::vector<std::string_view>& texts, const BranchTargets& branches) {
    Listing listing;
    listing.offsets = offsets;
    for (const std::string_view text : texts) {
        const std::optional<SassLine>& line = listing.lines.emplace_back(parse_sass(text));
        listing.effects.push_back(line ? effect_of(*line) : SassEffect());
    }
    for (size_t i = 0; i < offsets.size() && !branches.empty(); ++i) {
        const std::optional<SassLine>& line = listing.lines[i];
        const auto known = branches.find(offsets[i]);
        if (!line || (line->name != "BRX" && line->name != "BRXU") || known == branches.end() || known->second.empty()) continue;
        const auto is_there = [&](uint32_t target) { return std::binary_search(offsets.begin(), offsets.end(), target); };
        if (!std::all_of(known->second.begin(), known->second.end(), is_there)) continue;
        listing.effects[i].targets = known->second;
        listing.effects[i].anywhere = false;
    }
    listing.begins = block_begins(listing.effects, listing.offsets);
    return listing;
}

}  // namespace snoopie
