// The words of an instruction's name.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace snoopie {

template <size_t N>
bool one_of(std::string_view name, const std::array<std::string_view, N>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether "E.64.STRONG" has "64".
inline bool has(std::string_view modifiers, std::string_view wanted) {
    while (!modifiers.empty()) {
        const size_t dot = std::min(modifiers.find('.'), modifiers.size());
        if (modifiers.substr(0, dot) == wanted) return true;
        modifiers.remove_prefix(std::min(dot + 1, modifiers.size()));
    }
    return false;
}

}  // namespace snoopie
