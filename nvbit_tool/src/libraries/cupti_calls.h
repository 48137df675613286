// The program's own profiler, such as torch.profiler, asks CUPTI, which asks the driver. That tells one tool of its calls, and NVBit was
// first: CUPTI is refused, and its profile lacks the GPU. This library, being preloaded, stands before CUPTI and says so.
#pragma once

#include <atomic>

namespace snoopie {

// The collector is in the process, and so NVBit.
inline std::atomic<bool> nvbit_was_first{false};

// What a program gets that has looked up the function `name`, and would have got `found`. Null: this library stands before no such
// function.
using Instead = void*(void* found);
Instead* instead_of_cupti(const char* name);

}  // namespace snoopie
