// What a site's word says of it, from its operation and width.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"
#include "trace/owners.h"

namespace snoopie {

// Bytes that NVLink moves at a time: 32 of what is read, 16 of what is written, by atomics both ways (docs/nvlink.md). A lane that writes
// more writes two units that are always side by side, which count as one.
constexpr uint8_t wire_unit(Operation operation, uint8_t width) {
    return operation == Operation::load || width > kWriteUnit ? kReadUnit : kWriteUnit;
}

inline uint32_t site_word(uint32_t id, Operation operation, uint8_t width) {
    return pack_site(id, log2_of_width(width), wire_unit(operation, width));
}

}  // namespace snoopie
