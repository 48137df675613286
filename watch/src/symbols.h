// Functions that a shared library exports, and where they are in its file.
#pragma once

#include <stdint.h>

// Calls `each` for every function that the library exports. Returns -1 where the file is no such library.
int exported_functions(const char* path, void (*each)(void* context, const char* name, uint64_t offset), void* context);
