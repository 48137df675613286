// What LAUNCH_SAMPLE measured of each kernel's launches.
#pragma once

#include "launches/contexts.h"
#include "trace/trace_writer.h"

namespace snoopie {

// A row for each kernel and GPU of which not all launches were measured.
void write_sampling(const Contexts& contexts, TraceWriter* writer);

}  // namespace snoopie
