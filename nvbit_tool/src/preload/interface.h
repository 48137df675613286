// What the preloaded library does for the collector, which the driver loads too late to do it itself: it stands before other libraries'
// functions. Both are built together, and this is all that they know of each other.
#pragma once

#include "libraries/nccl_calls.h"
#include "libraries/nvshmem_calls.h"
#include "phases/ranges.h"
#include "phases/wanted.h"
#include "trace/compiled_sources.h"

namespace snoopie {

struct Preload {
    const char* version;  // of Snoopie; first, so that it can be read of any
    void (*send_collectives_to)(CollectiveSink* sink);
    uint32_t (*current_collective_group)(int gpu);
    void (*send_symmetric_memory_to)(SymmetricSink* sink);
    void (*before_driver_ends)(void (*last)());
    // Of the process: programs begin ranges, say when to record, and compile, also before there is a collector.
    Ranges& (*ranges)();
    Wanted& (*wanted)();
    CompiledSources& (*compiled_sources)();
    const void* code;  // in the code of the preloaded library
};

constexpr const char* kPreloadSymbol = "snoopie_preload";

}  // namespace snoopie
