// Which disassembler NVBit is told to run.
#pragma once

#include <string>

namespace snoopie {

// `text` as one word of a shell command.
std::string shell_word(const std::string& text);

// Names `disassemble`, which lies beside this library and remembers what nvdisasm says, to NVBit. Called when the library is loaded. Unless
// the user has named one himself, does not want it, or it is not there.
void name_the_disassembler();

// The path of `disassemble` if NVBit was told to run it, else "".
const std::string& named_disassembler();

}  // namespace snoopie
