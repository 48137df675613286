// What the addresses of a kernel's accesses are made from, and by which of its sites.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "code/parameters.h"
#include "code/roots.h"
#include "launches/word_batch.h"

namespace snoopie {

struct FunctionAddresses {
    struct Site {
        uint32_t id = 0;
        size_t roots = 0;  // index
        std::string text;  // the instruction
    };
    // Of the calls before one instruction, which are in the code together or not at all.
    struct Call {
        uint32_t offset = 0;          // of the instruction
        std::vector<uint32_t> sites;  // ids
        JumpGuard guard = kUnguarded;
        bool always = false;  // in the code of every launch, whatever its sites may reach
    };
    std::optional<KernelParameters> parameters;
    std::vector<Roots> roots;  // each once
    LaunchPaths paths;         // with the places where they are unknown, and where words are read
    std::vector<Site> sites;   // of roots that are known in some launches; others, and those of functions that it calls, can be live at any
    bool all_known = false;    // there are no others
    // The 8-byte words of the parameters that the roots and paths refer to, ascending; none if they can be any.
    std::optional<std::vector<uint16_t>> words;
    std::vector<Call> calls;  // by offset

    std::vector<uint16_t> deciding;  // those of the paths alone, if they tell which others a launch reads; else none

    // All that the judgement of a launch depends on. Structs have bytes between their members, which were never written and differ, and so
    // has what is beyond the end of what an array among them holds. What decides which words are read comes first.
    std::string looked_at(const std::string& bytes) const {
        if (!words) return bytes;
        std::string looked;
        const auto look = [&](uint16_t word) {
            if (size_t{8} * word < bytes.size()) looked.append(bytes, size_t{8} * word, 8);
        };
        for (const uint16_t word : deciding) look(word);
        std::vector<uint16_t> unread;
        if (!deciding.empty()) unread = paths.unread(paths.reached(bytes));
        const auto is_unread = [&](uint32_t half) { return std::binary_search(unread.begin(), unread.end(), half); };
        for (const uint16_t word : *words)
            if (!is_unread(2u * word) || !is_unread(2u * word + 1)) look(word);
        return looked;
    }
};

}  // namespace snoopie
