// What a setting's value may be, and which member of Options holds it.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace snoopie {

struct Options;

enum class Kind : uint8_t { flag, number, choice, text };

struct Rule {
    Kind kind;
    const char* words;    // of a flag or a choice, in the order of their values: "off|summary|all"
    uint32_t least;       // of a number
    uint32_t most;        //
    const char* form;     // of a text: what may be written
    const char* pattern;  // of a text: a regular expression that everything allowed matches; `read` may ask for more. "" = anything
    // Takes a value that is not empty; false if it is not allowed.
    bool (*read)(const Rule& rule, const std::string& value, Options* options);
    // The options' value, as it can be read again.
    std::string (*show)(const Rule& rule, const Options& options);

    // "write " + this is what to do about a value that is not allowed.
    std::string allowed() const;
};

// Of "off|summary|all".
std::optional<size_t> find_word(std::string_view words, std::string_view word);
std::string word_at(std::string_view words, size_t index);

// A member that is an enumeration, whose values have these words.
template <auto Member>
constexpr Rule choice(const char* words, Kind kind = Kind::choice) {
    return {kind,
            words,
            0,
            0,
            "",
            "",
            [](const Rule& rule, const std::string& value, auto* options) {
                const std::optional<size_t> index = find_word(rule.words, value);
                if (index) options->*Member = static_cast<std::decay_t<decltype(options->*Member)>>(*index);
                return index.has_value();
            },
            [](const Rule& rule, const auto& options) { return word_at(rule.words, static_cast<size_t>(options.*Member)); }};
}

// A bool, written 0 or 1.
template <auto Member>
constexpr Rule flag() {
    return choice<Member>("0|1", Kind::flag);
}

template <auto Member>
constexpr Rule number(uint32_t least, uint32_t most) {
    return {Kind::number,
            "",
            least,
            most,
            "",
            "",
            [](const Rule& rule, const std::string& value, auto* options) {
                uint32_t read = 0;
                const char* end = value.data() + value.size();
                const auto [stop, error] = std::from_chars(value.data(), end, read);
                if (error != std::errc() || stop != end || read < rule.least || read > rule.most) return false;
                options->*Member = read;
                return true;
            },
            [](const Rule&, const auto& options) { return std::to_string(options.*Member); }};
}

}  // namespace snoopie
