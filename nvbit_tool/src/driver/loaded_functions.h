// What NVBit knows of the functions that are loaded, which it never forgets: the driver gives the handle of a function to another when its
// module was unloaded, and NVBit takes that for the one it knew, with its name, its length and its instructions. A program that compiles,
// loads and unloads, as JAX does to find the fastest of several kernels, crashed from it or ran illegal instructions.
//
// NVBit keeps them in a table of each context, to which it has no name that a tool could use. But it calls a function of the standard
// library that is not inlined there, std::unordered_map's operator[] for these types, and the linker takes ours in its place: so the tables
// are found, and which functions came with which module.
#pragma once

#include "nvbit.h"

namespace snoopie {

// What the driver tells NVBit of modules. Of one thread a context at a time (code_turns.h).
class ModuleEvent {
  public:
    // NVBit hears of it while this lives. An unloaded module's functions are forgotten before.
    ModuleEvent(uint32_t what, const void* event);
    ~ModuleEvent();
    ModuleEvent(const ModuleEvent&) = delete;
    ModuleEvent& operator=(const ModuleEvent&) = delete;
};

// NVBit ends what it has of the context, tables too.
void forget_tables(CUcontext context);

}  // namespace snoopie
