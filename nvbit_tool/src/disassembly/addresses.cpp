#include "disassembly/addresses.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "base/hex.h"

namespace snoopie {

namespace {

constexpr size_t kInstruction = 16;  // bytes
constexpr int kSplitCalls = 90;      // the first architecture with a call's address in two parts

// A part of an instruction's number: its bits from `at` on, `shift` bits up.
struct Part {
    unsigned at;
    unsigned bits;
    unsigned shift;
};

struct Number {
    std::string_view instruction;  // as its name begins
    Part parts[2];
};

constexpr Number kMove{"MOV ", {{32, 32, 0}, {}}};
constexpr Number kUniformMove{"UMOV ", {{32, 32, 0}, {}}};
constexpr Number kCall{"CALL.ABS", {{34, 47, 2}, {}}};
constexpr Number kSplitCall{"CALL.ABS", {{16, 8, 2}, {34, 47, 10}}};

using Word = unsigned __int128;

Word word_at(std::string_view code, size_t offset) {
    Word word = 0;
    std::memcpy(&word, code.data() + offset, sizeof word);
    return word;
}

const Number* number_of(Word word, int architecture) {
    switch (static_cast<unsigned>(word) & 0xfff) {
        case 0x802:
            return &kMove;
        case 0x882:
            return &kUniformMove;
        case 0x943:
            return architecture < kSplitCalls ? &kCall : &kSplitCall;
        default:
            return nullptr;
    }
}

Word mask(const Part& part) { return ((Word{1} << part.bits) - 1) << part.at; }

uint64_t value(Word word, const Number& number) {
    Word all = 0;
    for (const Part& part : number.parts) all |= ((word & mask(part)) >> part.at) << part.shift;
    return static_cast<uint64_t>(all);
}

// The offset that a line of the listing begins with, `/*01a0*/`, which it then goes without.
std::optional<size_t> take_offset(std::string_view* line) {
    const size_t begin = line->find("/*");
    if (begin == std::string_view::npos || line->find_first_not_of(" \t") != begin) return std::nullopt;
    size_t offset = 0;
    const char* const end = line->data() + line->size();
    const auto [stop, error] = std::from_chars(line->data() + begin + 2, end, offset, 16);
    if (error != std::errc() || end - stop < 2 || stop[0] != '*' || stop[1] != '/') return std::nullopt;
    line->remove_prefix(static_cast<size_t>(stop + 2 - line->data()));
    return offset;
}

// Where the number stands in a line without its offset: "  @P0 MOV R4, 0x10 ;". Empty if it is not an instruction of this kind.
std::string_view number_in(std::string_view line, const Number& number) {
    const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(' '), line.size())); };
    skip_blanks();
    if (!line.empty() && line[0] == '@') {
        line.remove_prefix(std::min(line.find(' '), line.size()));
        skip_blanks();
    }
    if (line.substr(0, number.instruction.size()) != number.instruction) return {};
    const size_t begin = line.find(" 0x");
    if (begin == std::string_view::npos) return {};
    // One operand comes first: a move's register. A call has none.
    const std::string_view before = line.substr(0, begin);
    const bool is_move = number.instruction.back() == ' ';
    if (is_move ? before.find(',') != before.size() - 1 : before.find(' ') != std::string_view::npos) return {};
    line.remove_prefix(begin + 1);
    const size_t digits = line.find_first_not_of("0123456789abcdef", 2);
    if (digits == std::string_view::npos || digits == 2) return {};
    return line.substr(0, digits);
}

}  // namespace

std::string without_addresses(std::string code, int architecture) {
    for (size_t offset = 0; offset + kInstruction <= code.size(); offset += kInstruction) {
        Word word = word_at(code, offset);
        const Number* const number = number_of(word, architecture);
        if (!number) continue;
        for (const Part& part : number->parts) word &= ~mask(part);
        std::memcpy(code.data() + offset, &word, sizeof word);
    }
    return code;
}

std::optional<std::string> with_addresses(std::string_view listing, std::string_view code, int architecture) {
    std::string changed;
    changed.reserve(listing.size() + listing.size() / 64);
    size_t next = 0;  // instruction
    while (!listing.empty()) {
        std::string_view line = listing.substr(0, std::min(listing.find('\n'), listing.size() - 1) + 1);
        listing.remove_prefix(line.size());
        const std::string_view whole = line;
        if (const auto offset = take_offset(&line)) {
            // Each in its place, or the listing is of something else.
            if (*offset != next || next + kInstruction > code.size()) return std::nullopt;
            const Word word = word_at(code, next);
            next += kInstruction;
            if (const Number* const number = number_of(word, architecture)) {
                const std::string_view old = number_in(line, *number);
                if (old.empty()) return std::nullopt;
                changed.append(whole.data(), old.data());
                changed += hex_number(value(word, *number));
                changed.append(old.data() + old.size(), whole.data() + whole.size());
                continue;
            }
        }
        changed += whole;
    }
    if (next + kInstruction <= code.size()) return std::nullopt;
    return changed;
}

}  // namespace snoopie
