// Addresses that the process may still take: a limit on them (ulimit -v) counts what is reserved, of which CUDA and NVBit take gigabytes.
#pragma once

#include <cstdint>
#include <optional>

namespace snoopie {

// Bytes. None: there is no limit, or it is unknown how much is taken.
std::optional<uint64_t> address_room();

}  // namespace snoopie
