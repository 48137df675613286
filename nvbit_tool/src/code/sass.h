// One line of a disassembly as its parts, and what the instruction does to registers and control, as far as that is known for sure.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace snoopie {

// "@!P0 STG.E.64 desc[UR6][R8.64+0x10], R10 ;"
struct SassLine {
    // The predicate under which it runs; kAlways without one.
    static constexpr int kAlways = 7;
    int guard = kAlways;
    bool guard_negated = false;
    bool guard_uniform = false;  // a uniform predicate, @UP0
    std::string_view name;       // STG
    std::string_view modifiers;  // E.64
    std::vector<std::string_view> operands;
};

// None if the text is not an instruction as expected. The parts point into the text.
std::optional<SassLine> parse_sass(std::string_view text);

// What an instruction writes, and where control goes. Whatever is not known for sure is more than it does, never less.
struct SassEffect {
    bool unknown = true;            // it may write anything
    bool ends_block = true;         // behind it other lanes may run than before
    std::vector<uint32_t> targets;  // places of the function, as offsets, where control may come from it
    bool anywhere = false;          // it can go to places that only the run decides
    std::bitset<256> registers;     // general registers written
    uint8_t predicates = 0;         // predicates written, bit 0 = P0
};

SassEffect effect_of(const SassLine& line);

// For each instruction of a function whether a basic block begins with it. Empty if control can go to places that are not known.
std::vector<bool> block_begins(const std::vector<SassEffect>& effects, const std::vector<uint32_t>& offsets);

}  // namespace snoopie
