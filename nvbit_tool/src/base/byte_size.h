// Sizes as people write them in settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace snoopie {

// "500", "64K", "2G"; none if it is neither, or more than 64 bits hold.
std::optional<uint64_t> parse_byte_size(const std::string& text);

}  // namespace snoopie
