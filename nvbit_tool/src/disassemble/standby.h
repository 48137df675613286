// nvdisasm on standby. Nearly all of its time, a third of a second, nvdisasm builds tables that are the same for every function. So one is
// started that stops when it has built them, and forks for each function (preloaded/forking.cpp) until nothing was asked for a while.
//
// It has no file. Its socket's name is in Linux's abstract namespace: of two that start only one can have it, and it goes with its process.
#pragma once

#include <optional>
#include <string>

#include "disassembly/cache.h"
#include "disassembly/nvdisasm.h"

namespace snoopie {

// What run_nvdisasm does, by one on standby if possible. If there is none, has one started, and does not wait for it.
int disassemble_quickly(const Cache& cache, const std::string& program, const Arguments& arguments, Output* output);

}  // namespace snoopie
