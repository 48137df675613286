// How much memory a driver call sets or allocates, read from its parameters.
#pragma once

#include <cstdint>

#include "nvbit.h"

namespace snoopie {

// Of a call that has succeeded; 0 for one of another sort, and for one that became part of a graph instead.
uint64_t call_bytes(nvbit_api_cuda_t cbid, const void* params);

}  // namespace snoopie
