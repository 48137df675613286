// Where control goes in a function whose parameters are followed; see roots.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "code/followed_steps.h"
#include "code/listing.h"
#include "code/sass_operands.h"

namespace snoopie::following {

struct Block {
    size_t begin = 0;
    size_t end = 0;
    std::vector<size_t> next;           // blocks
    std::optional<size_t> forgetting;   // the same, behind the call of another function
    bool by_convention = false;         // that function returns its results as all do that are called by an address
    std::optional<size_t> returns_by;   // the register with the place where it returns to; kZero if that is not seen
    std::optional<size_t> waits_by;     // the barrier that says where lanes go on
    std::optional<size_t> behind_call;  // the block behind the call of a function of its own
    std::optional<size_t> calls;        // that function's first block
    std::optional<size_t> others_meet;  // the block where lanes meet that wait from here on
};

struct Graph {
    std::vector<Block> blocks;
    std::vector<size_t> block_of;  // by instruction
    std::vector<size_t> returns;   // blocks: behind calls, and places that the code names
    std::vector<size_t> meetings;  // blocks: where lanes that wait for each other go on
};

// A call of a function in the same code, to `target`. A call that was not linked yet names a place that says nothing.
inline bool calls_within(const SassLine& line, uint32_t offset, uint32_t target) {
    return !has(line.modifiers, "ABS") && target != 0 && target != offset && target != offset + 16;
}

// The number of a barrier or of nanoseconds is no place, but what is not known can be a branch.
inline bool goes_to_places(const SassLine& line, const Step& step) { return step.all_unknown || one_of(line.name, kGoing); }

// An instruction that can hold a place to return to.
inline bool holds_place(const SassLine& line) { return one_of(line.name, kHolding); }

inline Graph graph_of(const Listing& listing, const std::vector<Step>& steps, const std::unordered_map<uint32_t, size_t>& at) {
    const auto& lines = listing.lines;
    const auto& effects = listing.effects;
    Graph graph;
    std::vector<bool> begins(lines.size() + 1, false);
    begins[0] = true;
    const bool has_returns = std::any_of(lines.begin(), lines.end(), [](const auto& line) { return line && line->name == "RET"; });
    std::vector<size_t> meetings;
    std::vector<size_t> returns;
    std::vector<size_t> behind_collectives;
    for (size_t i = 0; i < lines.size(); ++i) {
        const SassLine& line = *lines[i];
        if (effects[i].ends_block) begins[i + 1] = true;
        for (const uint32_t target : effects[i].targets) {
            const auto found = at.find(target);
            if (found == at.end() || !goes_to_places(line, steps[i])) continue;
            begins[found->second] = true;
            if (line.name == "BSSY") meetings.push_back(found->second);
            // Nearly always directly behind its end.
            const bool behind_end = found->second > 0 && lines[found->second - 1]->name == "ENDCOLLECTIVE";
            if (line.name == "WARPSYNC" && !behind_end) behind_collectives.push_back(found->second);
        }
        for (const std::string_view operand : line.operands) {
            const auto place = immediate(operand);
            const auto found = place ? at.find(*place) : at.end();
            if (found == at.end() || *place == 0 || !has_returns || !holds_place(line)) continue;
            begins[found->second] = true;
            returns.push_back(found->second);
        }
        if (line.name == "CALL" && i + 1 < lines.size()) returns.push_back(i + 1);
    }
    graph.block_of.assign(lines.size(), 0);
    for (size_t i = 0; i < lines.size(); ++i) {
        if (begins[i]) {
            graph.blocks.emplace_back();
            graph.blocks.back().begin = i;
        }
        graph.blocks.back().end = i + 1;
        graph.block_of[i] = graph.blocks.size() - 1;
    }
    const auto blocks_at = [&](const std::vector<size_t>& instructions) {
        std::set<size_t> found;
        for (const size_t i : instructions) found.insert(graph.block_of[i]);
        return std::vector<size_t>(found.begin(), found.end());
    };
    graph.returns = blocks_at(returns);
    graph.meetings = blocks_at(meetings);
    for (Block& block : graph.blocks) {
        const size_t last = block.end - 1;
        const SassLine& line = *lines[last];
        const std::string_view name = line.name;
        const auto go = [&](size_t to) {
            if (to < lines.size()) block.next.push_back(graph.block_of[to]);
        };
        const bool always = line.guard == SassLine::kAlways && !line.guard_negated;
        bool local = false;
        // The place that BSSY names is where BSYNC goes. Only the last instruction of a block can go elsewhere.
        for (const uint32_t target : effects[last].targets) {
            const auto found = at.find(target);
            if (found == at.end() || !goes_to_places(line, steps[last])) continue;
            if (name == "BSSY") {
                block.others_meet = graph.block_of[found->second];
                continue;
            }
            go(found->second);
            local = name == "CALL" && calls_within(line, listing.offsets[last], target);
            if (local) block.calls = graph.block_of[found->second];
        }
        // A lane that waits goes on where its own BSYNC says; the other instructions on which lanes wait let it go on behind them.
        // What WARPSYNC.COLLECTIVE began goes on at the place that it named.
        if (name == "ENDCOLLECTIVE")
            for (const size_t to : behind_collectives) go(to);
        if (name == "BSYNC") block.waits_by = line.operands.empty() ? kZero : barrier_of(line.operands[0]).value_or(kZero);
        if (name == "RET") {
            std::string_view place = line.operands.empty() ? std::string_view() : line.operands[0];
            place = place.substr(0, place.find(' '));
            block.returns_by = has(line.modifiers, "ABS") ? kZero : register_of(place).value_or(kZero);
        }
        if (name == "CALL" && block.end < lines.size()) {
            if (local)
                block.behind_call = graph.block_of[block.end];
            else
                block.forgetting = graph.block_of[block.end];
            block.by_convention = has(line.modifiers, "ABS");
        }
        const bool jumps = name == "BRA" || name == "JMP" || name == "BRX" || name == "BRXU";
        const bool leaves = name == "EXIT" || name == "KILL" || name == "RET" || jumps || name == "CALL";
        // "BRA UP0, 0x10" and "BRA.DIV" have conditions of their own.
        const bool conditional = !always || line.operands.size() > 1 || (name != "RET" && !line.modifiers.empty());
        if (!leaves || (name == "CALL" ? !always : conditional)) go(block.end);
    }
    return graph;
}

}  // namespace snoopie::following
