// Driver calls that copy, read from their parameters.
#pragma once

#include <vector>

#include "calls/copy_ends.h"
#include "nvbit.h"

namespace snoopie {

// The copies that a driver call asks for: one, or as many as its batch has; none if it is not a call that copies.
std::vector<CopyCall> copy_calls(nvbit_api_cuda_t cbid, const void* params);

// The copy that a graph's memcpy node makes.
CopyCall copy_of_node(const CUDA_MEMCPY3D& node);

}  // namespace snoopie
