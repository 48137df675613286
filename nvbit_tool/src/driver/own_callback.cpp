// NVBit looks its tool's callback up by name at each entry and exit of each driver call, which takes longer than most calls do. The linker
// sends its look-ups here (--wrap), where this one has its answer.
#include <cstring>

#include "nvbit.h"

extern "C" {

void* __real_dlsym(void* library, const char* name);

void* __wrap_dlsym(void* library, const char* name) {
    if (std::strcmp(name, "nvbit_at_cuda_event") == 0) return reinterpret_cast<void*>(nvbit_at_cuda_event);
    return __real_dlsym(library, name);
}

}  // extern "C"
