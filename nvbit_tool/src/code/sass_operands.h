// The operands of an instruction, as far as following parameters needs them; see roots.h.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "code/sass_words.h"

namespace snoopie::following {

constexpr size_t kUniform = 256;  // the first uniform register, behind the general ones
constexpr size_t kBarrier = 512;  // the first barrier of lanes that wait for each other
constexpr size_t kStack = 528;    // the first word of the stack that is followed as if it were a register
constexpr size_t kRegisters = 784;
constexpr size_t kZero = kRegisters;  // RZ and URZ

inline bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

template <class Number>
inline std::optional<Number> number(std::string_view text, int base) {
    Number value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

inline std::optional<uint32_t> immediate(std::string_view text) {
    const bool negative = begins_with(text, "-");
    if (negative) text.remove_prefix(1);
    if (!begins_with(text, "0x")) return std::nullopt;
    const auto value = number<uint64_t>(text.substr(2), 16);
    if (!value) return std::nullopt;
    return static_cast<uint32_t>(negative ? 0 - *value : *value);
}

// R12 or UR12, with .64 and the like behind it; also what is left of |R12|.reuse.
inline std::optional<size_t> register_of(std::string_view text) {
    text = text.substr(0, text.find_first_of(".|"));
    if (text == "RZ" || text == "URZ") return kZero;
    const bool uniform = begins_with(text, "UR");
    if (!uniform && !begins_with(text, "R")) return std::nullopt;
    const auto found = number<uint32_t>(text.substr(uniform ? 2 : 1), 10);
    if (!found || *found >= kUniform) return std::nullopt;
    return *found + (uniform ? kUniform : 0);
}

inline std::optional<size_t> barrier_of(std::string_view text) {
    const auto found = begins_with(text, "B") ? number<uint32_t>(text.substr(1), 10) : std::nullopt;
    if (!found || *found >= kStack - kBarrier) return std::nullopt;
    return kBarrier + *found;
}

// "128" of "128x16".
inline std::optional<uint32_t> leading_number(std::string_view text) {
    return number<uint32_t>(text.substr(0, text.find_first_not_of("0123456789")), 10);
}

inline bool is_predicate(std::string_view text) {
    if (begins_with(text, "!")) text.remove_prefix(1);
    if (begins_with(text, "U")) text.remove_prefix(1);
    return text == "PT" || text == "PR" || (text.size() == 2 && text[0] == 'P' && text[1] >= '0' && text[1] <= '9');
}

// A source, without its sign and the like.
inline std::string_view bare(std::string_view text) {
    while (!text.empty() && (text.front() == '-' || text.front() == '~' || text.front() == '|' || text.front() == '!'))
        text.remove_prefix(1);
    while (!text.empty() && text.back() == '|') text.remove_suffix(1);
    return text;
}

inline bool is_wide(std::string_view modifiers) {
    for (const std::string_view wide : {"64", "U64", "S64", "F64", "WIDE", "128", "256"})
        if (has(modifiers, wide)) return true;
    return false;
}

// Of 8 or 16 bits.
inline bool is_narrow(std::string_view modifiers) {
    for (const std::string_view narrow : {"U8", "S8", "U16", "S16"})
        if (has(modifiers, narrow)) return true;
    return false;
}

// c[0x0][R4+0x160], where it can be told which words it reads.
struct Constant {
    bool parameters = false;  // bank 0
    bool indexed = false;
    uint32_t offset = 0;
};

inline std::optional<Constant> constant_of(std::string_view text) {
    if (!begins_with(text, "c[") && !begins_with(text, "cx[")) return std::nullopt;
    Constant constant;
    constexpr std::string_view kBank0 = "c[0x0][";
    if (!begins_with(text, kBank0) || text.back() != ']') return constant;
    constant.parameters = true;
    text = text.substr(kBank0.size(), text.size() - kBank0.size() - 1);
    while (!text.empty()) {
        const size_t plus = std::min(text.find('+'), text.size());
        const std::string_view part = text.substr(0, plus);
        if (const auto value = immediate(part))
            constant.offset += *value;
        else
            constant.indexed |= register_of(part) != kZero;
        text.remove_prefix(std::min(plus + 1, text.size()));
    }
    return constant;
}

}  // namespace snoopie::following
