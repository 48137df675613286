// The functions that those of this library, which is preloaded, hide.
#pragma once

namespace snoopie {

// The function of this name that code at `caller` would have reached without this library: in the global scope, else in the caller's own
// libraries, as where Python has loaded them for itself, else in any that is loaded. Null if there is none.
// What is found is remembered for the caller; `name` is a literal, whose address stands for it.
void* next_function(const char* name, const void* caller);

// The dlsym that this library's own hides. Finds what comes next only for code in this library, as it looks at who calls it.
using LookUp = void*(void* handle, const char* name);
LookUp* next_dlsym();

}  // namespace snoopie
