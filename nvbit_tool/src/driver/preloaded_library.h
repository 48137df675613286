// The library that is preloaded into the program, which has opened this one.
#pragma once

#include "preload/interface.h"

namespace snoopie {

// What it does for the collector. Where it was not preloaded, or is of another version, nothing: NCCL's and NVSHMEM's calls, ranges, and
// what NVRTC compiles are then not seen.
const Preload& preloaded_library();

}  // namespace snoopie
