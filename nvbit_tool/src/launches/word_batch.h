// What the kernels that read and write code are told.
#pragma once

#include <cstdint>

namespace snoopie {

constexpr uint32_t kWordBatch = 512;  // words that a launch reads or writes, one a thread

// The guard that a jump to a call is to have, as instructions encode it: a predicate, and 8 if it is negated.
using JumpGuard = uint8_t;
constexpr JumpGuard kUnguarded = 7;

struct WordBatch {
    uint64_t code = 0;   // address of the function
    uint64_t words = 0;  // where its words are kept, 16 bytes each
    uint32_t count = 0;
    uint32_t offsets[kWordBatch] = {};    // of the words in the function
    uint32_t live[kWordBatch / 32] = {};  // bits: words that stay jumps,
    JumpGuard guards[kWordBatch] = {};    // with these guards
};

}  // namespace snoopie
