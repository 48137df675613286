// The functions that those of this library, which is preloaded, hide.
#pragma once

namespace snoopie {

// The function of this name that code at `caller` would have reached without this library: in the global scope, else in the caller's own
// libraries, as where Python has loaded them for itself, else in any that is loaded. Null if there is none.
// What is found is remembered for the caller; `name` is a literal, whose address stands for it.
void* next_function(const char* name, const void* caller);

// A dlsym finds what comes next only for the code that calls it.
using LookUp = void*(void* handle, const char* name);
// The C library's, which this one's own looks up with: another library that stands before dlsym finds what comes next behind itself, where
// this one may be.
LookUp* c_dlsym();
// The one that this library's own hides: that of another such library, if there is one behind this one, else the C library's.
LookUp* next_dlsym();

}  // namespace snoopie
