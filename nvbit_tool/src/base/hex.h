// Bytes and numbers as hexadecimal digits.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace snoopie {

inline std::string hex(std::string_view bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += kDigits[static_cast<unsigned char>(c) >> 4];
        text += kDigits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

// 0x1f
inline std::string hex_number(uint64_t number) {
    char digits[16];
    return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr);
}

}  // namespace snoopie
