// Where indirect branches can go: a switch is one, whose places lie in a table.
#pragma once

#include <string>
#include <unordered_map>

#include "code/cubin.h"
#include "code/listing.h"

namespace snoopie {

// Of the functions of a cubin that have some, by their names there, as the compiler lists them for the tools.
std::unordered_map<std::string, BranchTargets> branch_targets_of(const Cubin& cubin);

}  // namespace snoopie
