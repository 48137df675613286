// Disassembly in parallel, before NVBit asks for it function by function. NVBit hands nvdisasm a function's code as it stands in its
// module; asked for the same code before, `disassemble` has the answer ready.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snoopie {

// Of the named functions in a module, by the program at `disassemble`; those that are not found are left to NVBit. Returns when all are
// done. `architecture`: "SM90".
void disassemble_ahead(const std::string& disassemble, std::string_view module, const std::vector<std::string>& mangled,
                       const std::string& architecture);

}  // namespace snoopie
