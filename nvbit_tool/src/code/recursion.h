// Kernels that reach a recursive function which is linked as a function of its own. NVBit's search for the functions that a kernel calls
// does not end there, and the program with it: such kernels run their original code.
#pragma once

#include <string>
#include <unordered_set>

#include "code/cubin.h"

namespace snoopie {

// All functions of the module from which a cycle of calls can be reached.
std::unordered_set<std::string> recursive_functions(const Cubin& module);

}  // namespace snoopie
