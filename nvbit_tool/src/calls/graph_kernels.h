// Driver calls that put kernels into graphs, read from their parameters.
#pragma once

#include <optional>

#include "calls/launch_call.h"
#include "nvbit.h"

namespace snoopie {

struct GraphKernel {
    CUcontext context = nullptr;  // that it runs in
    LaunchCall call;              // without a stream, and without the shape of its blocks
    bool new_node = false;        // and not new parameters of one that is there
};

// The kernel that gets into a graph, or into another node of one. Asked at the entry, when the driver has not looked at the parameters yet.
// `current` is the calling thread's context.
std::optional<GraphKernel> graph_kernel(CUcontext current, nvbit_api_cuda_t cbid, const void* params);

// Whether the node of this call is a conditional one.
bool is_conditional_node(nvbit_api_cuda_t cbid, const void* params);

}  // namespace snoopie
