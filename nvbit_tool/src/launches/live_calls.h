// Whether an access of a launch may leave the GPU, by what its address is made from and what the parameters hold.
//
// A pointer into memory that is the GPU's own makes accesses that stay there, as long as the program does not leave an allocation by
// arithmetic. To be safe from that, too, the numbers that take part in an address are looked at: none may be a pointer to foreign memory
// by itself, nor lead from the pointer into foreign memory, as the distance of two pointers would: as so many bytes where the code tells
// how many it counts, else as elements of any usual size. And no pointer may lie less than 64 KiB before foreign memory, which it may be
// meant for. A pointer that the code chooses by an index can be any word of the parameters: none may lead out. Words that the launch does
// not read, as the strides of dimensions that a tensor does not have, count for nothing. Where anything is not as expected the answer is
// yes: a probe too many costs time, one too few would cost an access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "code/parameters.h"
#include "code/roots.h"
#include "memory/where.h"

namespace snoopie {

// Of a launch call that hands its parameters over as they lie in memory (CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE); null if it does not.
struct ParameterBuffer {
    const void* data = nullptr;
    size_t bytes = 0;
};
ParameterBuffer parameter_buffer(void* const* extra);

// The bytes of the parameters of a launch, which its call holds in one of two forms; none if they are not whole.
std::optional<std::string> parameter_bytes(const KernelParameters& kernel, void* const* parameters, void* const* extra);

// Of each address of a kernel. `parameters`: as they lie in constant bank 0. `paths`: with the places where addresses are
// unknown, and where words are read.
std::vector<bool> may_leave(const std::vector<Roots>& addresses, const std::string& parameters, const WhereIs& where,
                            const LaunchPaths& paths = {});

}  // namespace snoopie
