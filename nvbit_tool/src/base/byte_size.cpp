#include "base/byte_size.h"

#include <charconv>
#include <cstring>

namespace snoopie {

std::optional<uint64_t> parse_byte_size(const std::string& text) {
    constexpr const char* kUnits = "KMGT";
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc()) return std::nullopt;
    if (stop == end) return number;
    const char* unit = std::strchr(kUnits, *stop);
    if (!*stop || !unit || stop + 1 != end) return std::nullopt;
    const int shift = 10 * static_cast<int>(unit - kUnits + 1);
    if (number > UINT64_MAX >> shift) return std::nullopt;
    return number << shift;
}

}  // namespace snoopie
