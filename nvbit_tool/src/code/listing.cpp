#include "code/listing.h"

namespace snoopie {

Listing listing_of(const std::vector<uint32_t>& offsets, const std::vector<std::string_view>& texts) {
    Listing listing;
    listing.offsets = offsets;
    for (const std::string_view text : texts) {
        const std::optional<SassLine>& line = listing.lines.emplace_back(parse_sass(text));
        listing.effects.push_back(line ? effect_of(*line) : SassEffect());
    }
    listing.begins = block_begins(listing.effects, listing.offsets);
    return listing;
}

}  // namespace snoopie
