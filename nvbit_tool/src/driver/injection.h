// How the driver comes to load an NVBit tool that was only preloaded.
#pragma once

#include <dlfcn.h>

#include <cstdlib>

namespace snoopie {

// Names the library that this is compiled into. The driver loads tools from this variable only; set before its first call, a plain
// LD_PRELOAD is enough. Call it from a constructor.
static inline void name_the_tool_to_the_driver() {
    Dl_info self;
    if (dladdr(reinterpret_cast<void*>(&name_the_tool_to_the_driver), &self) && self.dli_fname) {
        char* path = realpath(self.dli_fname, nullptr);
        if (path) setenv("CUDA_INJECTION64_PATH", path, 0);
        // NVTX looks for its own, when the program first calls it.
        if (path) setenv("NVTX_INJECTION64_PATH", path, 0);
        free(path);
    }
    // Lines that NVBit would print.
    setenv("NOBANNER", "1", 0);
    setenv("ACK_CTX_INIT_LIMITATION", "1", 0);
}

}  // namespace snoopie
