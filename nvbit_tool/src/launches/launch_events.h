// Driver events that launch kernels and graphs, or put kernels into graphs, turned into launches.
#pragma once

#include "calls/not_followed.h"
#include "launches/graph_launches.h"
#include "launches/graph_nodes.h"
#include "launches/launches.h"
#include "nvbit.h"

namespace snoopie {

// Remembers for each thread the launches that are between their entry and their exit.
class LaunchEvents {
  public:
    // `not_followed` is told of graphs whose launches cannot be followed.
    LaunchEvents(Launches* launches, GraphNodes* nodes, GraphLaunches* graphs, NotFollowed not_followed)
        : launches_(launches), nodes_(nodes), graphs_(graphs), not_followed_(std::move(not_followed)) {}

    // The call is a launch of this kernel.
    void at_launch(CUcontext context, bool is_exit, const LaunchCall& call, bool succeeded);
    // Any other call.
    void at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const void* params, bool succeeded);
    // Between entry and exit of a graph's launch.
    void at_graph_kernel(CUcontext context, CUfunction function, CUstream stream, uint64_t launch_handle);

  private:
    void at_graph_launch(CUcontext context, bool is_exit, CUgraphExec graph, CUstream stream, bool succeeded);
    void at_multi_device_launch(CUcontext context, bool is_exit, const cuLaunchCooperativeKernelMultiDevice_params& params, bool succeeded);
    void at_new_node(CUcontext context, nvbit_api_cuda_t cbid, const void* params);
    void after_node(CUcontext context, nvbit_api_cuda_t cbid, const void* params);
    void changed(CUgraphExec graph);

    Launches* const launches_;
    GraphNodes* const nodes_;
    GraphLaunches* const graphs_;
    const NotFollowed not_followed_;
};

}  // namespace snoopie
