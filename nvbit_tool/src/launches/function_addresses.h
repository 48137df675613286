// What the addresses of a kernel's accesses are made from, and by which of its sites.
#pragma once

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
    };
    std::optional<KernelParameters> parameters;
    std::vector<Roots> roots;  // each once
    std::vector<Site> sites;   // of known roots; others, and those of functions that it calls, can be live at any launch
    bool all_known = false;    // there are no others
    std::vector<Call> calls;   // by offset
};

}  // namespace snoopie
