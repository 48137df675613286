// What the kernels that read and write code are told.
#pragma once

#include <cstdint>

namespace snoopie {

constexpr uint32_t kWordBatch = 512;  // words that a launch reads or writes, one a thread

struct WordBatch {
    uint64_t code = 0;   // address of the function
    uint64_t words = 0;  // where its words are kept, 16 bytes each
    uint32_t count = 0;
    uint32_t offsets[kWordBatch] = {};    // of the words in the function
    uint32_t live[kWordBatch / 32] = {};  // bits: words to be left as they are
};

}  // namespace snoopie
