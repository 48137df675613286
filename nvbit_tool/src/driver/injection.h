// How the driver comes to load an NVBit tool that was only preloaded.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace snoopie {

// The file of the library that this is compiled into; "" if it is unknown.
static inline std::string own_path() {
    Dl_info self;
    if (!dladdr(reinterpret_cast<void*>(&own_path), &self) || !self.dli_fname) return "";
    char* const real = realpath(self.dli_fname, nullptr);
    const std::string path = real ? real : "";
    free(real);
    return path;
}

// NVTX looks for its own library, when the program first calls it.
static inline void name_the_library_to_nvtx() {
    if (const std::string path = own_path(); !path.empty()) setenv("NVTX_INJECTION64_PATH", path.c_str(), 0);
}

// Names this library. The driver loads tools from this variable only; set before its first call, a plain LD_PRELOAD is enough. Call it from
// a constructor.
static inline void name_the_tool_to_the_driver() {
    if (const std::string path = own_path(); !path.empty()) setenv("CUDA_INJECTION64_PATH", path.c_str(), 0);
    // Lines that NVBit would print.
    setenv("NOBANNER", "1", 0);
    setenv("ACK_CTX_INIT_LIMITATION", "1", 0);
}

}  // namespace snoopie
