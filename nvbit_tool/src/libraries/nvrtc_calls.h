// The program's NVRTC calls that hand over source text: this library, being preloaded, stands before NVRTC, keeps the text, and passes the
// call on.
//
// Unlike the other libraries' functions, these are also found where a program looks them up (dlopen and dlsym), as CuPy, cuda-python and
// PyTorch do. A program that has NVRTC linked into it passes by.
#pragma once

namespace snoopie {

// The function that hands text over.
inline constexpr char kNvrtcCreate[] = "nvrtcCreateProgram";

// What a program gets that has looked it up, and would have got `found`.
void* instead_of_nvrtc_create(void* found);

}  // namespace snoopie
