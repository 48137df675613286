#include "base/reader.h"

namespace snoopie {

bool Reader::has(uint64_t size) {
    if (size <= left()) return true;
    ok_ = false;
    position_ = bytes_.size();
    return false;
}

uint64_t Reader::leb(bool is_signed) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const auto byte = read<uint8_t>();
        if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
        if (byte & 0x80) continue;
        if (is_signed && (byte & 0x40) && shift + 7 < 64) value |= ~uint64_t{0} << (shift + 7);
        return value;
    }
}

std::string_view Reader::text() {
    const std::string_view found = rest().substr(0, rest().find('\0'));
    skip(found.size() + 1);
    return ok_ ? found : std::string_view();
}

Reader Reader::take(uint64_t size) {
    Reader part(has(size) ? bytes_.substr(position_, size) : std::string_view());
    part.base_ = offset();
    skip(part.left());
    return part;
}

}  // namespace snoopie
