// What the cache of disassembly knows, without starting a program. NVBit starts one for each function, hundreds of times for a kernel of
// NCCL, and each start takes longer than the look into the cache.
#pragma once

#include <string>

namespace snoopie {

// NVBit's command line, which has `disassemble`, a word of the shell, disassemble a file into another: true if that is done. It is not
// where the cache lacks the answer, or the command is another one.
bool disassembled_from_cache(const std::string& command, const std::string& disassemble);

// Whether the cache has the answer for the code in this file.
bool is_in_cache(const std::string& architecture, const std::string& file);

}  // namespace snoopie
