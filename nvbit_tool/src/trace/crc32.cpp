#include "trace/crc32.h"

#include <array>

namespace snoopie {

namespace {

std::array<uint32_t, 256> make_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xEDB88320u : 0);
        table[i] = value;
    }
    return table;
}

}  // namespace

uint32_t crc32(const void* bytes, size_t size) {
    static const std::array<uint32_t, 256> table = make_table();
    const auto* data = static_cast<const uint8_t*>(bytes);
    uint32_t value = 0xFFFFFFFFu;
    for (size_t i = 0; i < size; ++i) value = (value >> 8) ^ table[(value ^ data[i]) & 0xFF];
    return ~value;
}

}  // namespace snoopie
