// The attributes of a function in its section ".nv.info.NAME" of a cubin.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/reader.h"

namespace snoopie {

// Each is a byte that says how long it is, a byte that says what it is, and two bytes: its value, or the size of what follows. Only those
// with a size are visited. False if the section is damaged.
template <class Visit>
bool visit_attributes(std::string_view section, Visit visit) {
    constexpr uint8_t kSized = 4;
    Reader attributes(section);
    while (!attributes.at_end()) {
        const auto form = attributes.read<uint8_t>();
        const auto kind = attributes.read<uint8_t>();
        const auto size = attributes.read<uint16_t>();
        if (form == kSized) visit(kind, attributes.take(size));
    }
    return attributes.ok();
}

}  // namespace snoopie
