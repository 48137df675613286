#include "launches/launch_events.h"

#include "calls/graph_kernels.h"
#include "calls/launch_calls.h"
#include "driver/thread_stack.h"

namespace snoopie {

namespace {

// Of this thread's calls that are between entry and exit.
thread_local ThreadStack<Launch> under_way;
thread_local CUgraphExec launching_graph = nullptr;
thread_local size_t nodes_launched = 0;  // of that

}  // namespace

void LaunchEvents::at_launch(CUcontext context, bool is_exit, const LaunchCall& call, bool succeeded) {
    if (is_exit) {
        auto launch = under_way.pop();
        if (launch && launch->captured && succeeded) graphs_->captured(context, call);
        if (launch) launches_->after(std::move(*launch), succeeded);
    } else if (capturing(call.stream)) {
        if (call.changes_on_device) graphs_->changes_on_device();
        graphs_->added(context, call, true);
        Launch launch;
        launch.captured = true;
        under_way.push(std::move(launch));
    } else if (auto native = launches_->native(context, call)) {
        under_way.push(std::move(*native));
    } else if (const CUcontext there = context_of(call.stream, context); there != context) {
        // A kernel runs where its stream is, which need not be the current context's GPU.
        under_way.push(launches_->elsewhere(there, call));
    } else {
        under_way.push(launches_->before(context, call));
    }
}

void LaunchEvents::at_graph_launch(bool is_exit, CUgraphExec graph, bool succeeded) {
    launching_graph = is_exit ? nullptr : graph;
    nodes_launched = 0;
    if (!is_exit) return;
    // Of the nodes, announced between entry and exit.
    for (Launch& node : under_way.take()) launches_->after(std::move(node), succeeded);
}

void LaunchEvents::at_graph_node(CUcontext context, CUfunction function, CUstream stream, uint64_t launch_handle) {
    func_config_t config{};
    nvbit_get_func_config(context, function, &config);
    const LaunchCall call{function,
                          stream,
                          {config.gridDimX, config.gridDimY, config.gridDimZ},
                          {config.blockDimX, config.blockDimY, config.blockDimZ},
                          config.shmem_dynamic_nbytes};
    under_way.push(graphs_->before_node(context, call, launching_graph, nodes_launched++, launch_handle));
}

void LaunchEvents::at_multi_device_launch(CUcontext context, bool is_exit, const cuLaunchCooperativeKernelMultiDevice_params& params,
                                          bool succeeded) {
    if (is_exit) {
        for (Launch& part : under_way.take()) launches_->after(std::move(part), succeeded);
        return;
    }
    for (const LaunchCall& call : multi_device_launches(params)) under_way.push(launches_->before(context_of(call.stream, context), call));
}

void LaunchEvents::at_new_node(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
    if (const auto kernel = graph_kernel(context, cbid, params)) graphs_->added(kernel->context, kernel->call, kernel->new_node);
    if (is_conditional_node(cbid, params)) not_followed_("conditional graph nodes");
}

void LaunchEvents::after_node(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
    const auto kernel = graph_kernel(context, cbid, params);
    if (!kernel) return;
    switch (cbid) {
        case API_CUDA_cuGraphExecKernelNodeSetParams:
        case API_CUDA_cuGraphExecKernelNodeSetParams_v2:
        case API_CUDA_cuGraphExecNodeSetParams:
            return graphs_->set_anew(static_cast<const cuGraphExecKernelNodeSetParams_params*>(params)->hGraphExec);
        case API_CUDA_cuGraphKernelNodeSetParams:
        case API_CUDA_cuGraphKernelNodeSetParams_v2:
        case API_CUDA_cuGraphNodeSetParams:
            return graphs_->removed(static_cast<const cuGraphKernelNodeSetParams_params*>(params)->hNode);
        default:
            // What adds one: its handle comes first in all of their parameters.
            return graphs_->added(*static_cast<const cuGraphAddKernelNode_params*>(params)->phGraphNode, kernel->context, kernel->call);
    }
}

void LaunchEvents::at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const void* params, bool succeeded) {
    switch (cbid) {
        case API_CUDA_cuGraphLaunch:
        case API_CUDA_cuGraphLaunch_ptsz:
            return at_graph_launch(is_exit, static_cast<const cuGraphLaunch_params*>(params)->hGraph, succeeded);
        case API_CUDA_cuGraphExecUpdate:
        case API_CUDA_cuGraphExecUpdate_v2:
        case API_CUDA_cuGraphExecChildGraphNodeSetParams:
            // The executable graph comes first in all of their parameters.
            if (succeeded) graphs_->updated(static_cast<const cuGraphExecUpdate_params*>(params)->hGraphExec);
            return;
        case API_CUDA_cuGraphExecDestroy:
            // Before the handle can be another graph's.
            if (!is_exit) graphs_->destroyed(static_cast<const cuGraphExecDestroy_params*>(params)->hGraphExec);
            return;
#define ON(call, ...)                                               \
    case API_CUDA_##call: {                                         \
        const auto& p = *static_cast<const call##_params*>(params); \
        __VA_ARGS__;                                                \
        return;                                                     \
    }
            ON(cuGraphInstantiate, if (succeeded) graphs_->instantiated(*p.phGraphExec, p.hGraph))
            ON(cuGraphInstantiate_v2, if (succeeded) graphs_->instantiated(*p.phGraphExec, p.hGraph))
            ON(cuGraphInstantiateWithFlags, if (succeeded) graphs_->instantiated(*p.phGraphExec, p.hGraph))
            ON(cuGraphInstantiateWithParams, if (succeeded) graphs_->instantiated(*p.phGraphExec, p.hGraph))
            ON(cuGraphInstantiateWithParams_ptsz, if (succeeded) graphs_->instantiated(*p.phGraphExec, p.hGraph))
            // Before their handles can be others'.
            ON(cuStreamDestroy, if (!is_exit) launches_->stream_ending(context, p.hStream))
            ON(cuStreamDestroy_v2, if (!is_exit) launches_->stream_ending(context, p.hStream))
            ON(cuGraphDestroy, if (!is_exit) graphs_->removed(p.hGraph))
            ON(cuGraphDestroyNode, if (!is_exit) graphs_->removed(p.hNode))
#undef ON
        case API_CUDA_cuGraphKernelNodeSetAttribute:
            if (static_cast<const cuGraphKernelNodeSetAttribute_params*>(params)->attr == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
                graphs_->changes_on_device();
            return;
        case API_CUDA_cuGraphNodeSetEnabled:
            if (succeeded && !static_cast<const cuGraphNodeSetEnabled_params*>(params)->isEnabled) graphs_->node_disabled();
            return;
        case API_CUDA_cuLaunchCooperativeKernelMultiDevice:
            return at_multi_device_launch(context, is_exit, *static_cast<const cuLaunchCooperativeKernelMultiDevice_params*>(params),
                                          succeeded);
        case API_CUDA_cuFuncSetBlockShape:
            if (succeeded) block_shape_set(*static_cast<const cuFuncSetBlockShape_params*>(params));
            return;
        default:
            if (!is_exit) at_new_node(context, cbid, params);
            if (succeeded) after_node(context, cbid, params);
    }
}

}  // namespace snoopie
