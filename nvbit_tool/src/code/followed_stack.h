// Registers that a kernel keeps in its stack for a while; see roots.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "code/listing.h"
#include "code/sass_operands.h"

namespace snoopie::following {

constexpr std::string_view kStackPointer = "R1";

// They name the place where they go, or where others wait.
constexpr std::array<std::string_view, 7> kGoing = {"BRA", "BRX", "BRXU", "JMP", "CALL", "WARPSYNC", "BSSY"};

inline bool is_stack_access(const SassLine& line) { return line.name == "LDL" || line.name == "STL"; }

// The operand of a stack access that is its address: "[R1+0x10]". As a place in the stack; none if it has another form.
inline std::optional<uint32_t> stack_place(const SassLine& line) {
    for (std::string_view operand : line.operands) {
        if (!begins_with(operand, "[") || operand.back() != ']') continue;
        operand = operand.substr(1, operand.size() - 2);
        const size_t plus = std::min(operand.find('+'), operand.size());
        if (operand.substr(0, plus) != kStackPointer) return std::nullopt;
        return plus == operand.size() ? 0 : immediate(operand.substr(plus + 1));
    }
    return std::nullopt;
}

inline bool mentions(std::string_view operand, std::string_view reg) {
    const auto part_of_name = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
    for (size_t at = operand.find(reg); at != operand.npos; at = operand.find(reg, at + 1)) {
        const size_t end = at + reg.size();
        if ((at == 0 || !part_of_name(operand[at - 1])) && (end == operand.size() || !part_of_name(operand[end]))) return true;
    }
    return false;
}

// Whether what lies in the stack is written and read at known places alone: its pointer is set when the kernel begins, and nothing is made
// of it, so that no other address can lead there.
inline bool has_plain_stack(const Listing& listing) {
    const auto& lines = listing.lines;
    const auto& effects = listing.effects;
    bool begins = true;  // before all branches and accesses
    std::optional<uint32_t> set_until;
    for (size_t i = 0; i < lines.size(); ++i) {
        const SassLine& line = *lines[i];
        size_t count = 0;
        for (const std::string_view operand : line.operands) count += mentions(operand, kStackPointer);
        if (is_stack_access(line)) {
            begins = false;
            const auto place = stack_place(line);
            if (!place || count != 1 || (*place % 4 != 0 && !is_narrow(line.modifiers))) return false;
        } else if (count > 0 || (!effects[i].unknown && effects[i].registers[1])) {
            const bool sets = begins && line.guard == SassLine::kAlways && !line.guard_negated && !effects[i].unknown &&
                              !line.operands.empty() && line.operands[0] == kStackPointer && effects[i].registers.count() == 1;
            if (!sets) return false;
            set_until = listing.offsets[i];
        }
        begins = begins && !effects[i].ends_block;
    }
    if (!set_until) return false;
    // And does not begin again.
    for (size_t i = 0; i < lines.size(); ++i) {
        const std::vector<uint32_t>& targets = effects[i].targets;
        const bool back = std::any_of(targets.begin(), targets.end(), [&](uint32_t target) { return target <= *set_until; });
        if (back && (effects[i].unknown || one_of(lines[i]->name, kGoing))) return false;
    }
    return true;
}

}  // namespace snoopie::following
