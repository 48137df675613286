// Running NVIDIA's disassembler.
#pragma once

#include <string>

#include "disassembly/cache.h"
#include "disassembly/nvdisasm.h"

namespace snoopie {

// Runs the program with this one's stdin. Its wait status, and what it wrote.
int run_nvdisasm(const std::string& program, const Arguments& arguments, Output* output);

// Becomes the program; returns only if that fails, with the exit status that a shell would give.
int become_nvdisasm(const std::string& program, const Arguments& arguments);

}  // namespace snoopie
