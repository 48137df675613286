// A library whose lookups depend on who makes them. Two of them, linked in turn (-DFIRST), have the same function.
#include <dlfcn.h>

using Function = const char*();

#ifdef FIRST
// Stands before the second one's.
extern "C" const char* whose() { return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "whose"))(); }
#else
extern "C" const char* whose() { return "the second's"; }

// The program opens the library for itself: its functions are in no scope but its own.
extern "C" const char* own() { return "its own"; }
extern "C" const char* look_at_home() {
    auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, "own"));
    return found ? found() : "nothing";
}
#endif
