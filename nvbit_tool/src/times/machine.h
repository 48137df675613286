// The machine as the driver describes it, asked through the library that the program has loaded: nothing here is linked against it.
#pragma once

#include <string>
#include <vector>

#include "trace/trace_header.h"

namespace snoopie {

struct Machine {
    std::vector<GpuInfo> gpus;  // those that the process sees, in CUDA's order, and behind them the others
    std::vector<LinkInfo> links;
    size_t visible = 0;
};

// Once the driver is initialized.
Machine this_machine();

// Of CUDA, that the driver has: 1000 × major + 10 × minor; 0 if there is no driver. At any time.
int driver_cuda_version();

}  // namespace snoopie
