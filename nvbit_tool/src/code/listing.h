// The code of a function, taken apart once for all that look at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "code/sass.h"

namespace snoopie {

// Of each instruction, in order. The lines point into the texts that they were made of.
struct Listing {
    std::vector<uint32_t> offsets;
    std::vector<std::optional<SassLine>> lines;  // none where the text is not as expected
    std::vector<SassEffect> effects;
    std::vector<bool> begins;  // whether a basic block begins there; empty if control can go to places that are not known
};

// Of indirect branches, by their offsets, where each can go.
using BranchTargets = std::unordered_map<uint32_t, std::vector<uint32_t>>;

Listing listing_of(const std::vector<uint32_t>& offsets, const std::vector<std::string_view>& texts, const BranchTargets& branches = {});

}  // namespace snoopie
