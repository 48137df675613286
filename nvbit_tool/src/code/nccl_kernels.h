// NCCL's kernels call nearly everything through one table of device functions: 848 of them, of which a launch uses a few. Their numbers are
// in the launch's argument, a list of batches of work; reading them there saves the disassembly of all others.
//
// The layout is that of ncclDevKernelArgs and ncclDevWorkBatch in NCCL's src/include/device.h, from 2.22 to 2.29.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace snoopie {

// The table's name in NCCL's module: an array of pointers to device functions.
constexpr const char* kNcclTable = "ncclDevFuncTable";

// Whether a kernel with this demangled name has an argument of that layout.
bool has_nccl_work(const std::string& demangled);

// The places in the table that a launch of `blocks` thread blocks reaches; none if the argument is not as expected. `entries`: the table's.
std::optional<std::set<uint32_t>> nccl_functions(const void* argument, size_t bytes, uint32_t blocks, size_t entries);

}  // namespace snoopie
