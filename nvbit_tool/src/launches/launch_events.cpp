#include "launches/launch_events.h"

#include "calls/graph_kernels.h"
#include "calls/launch_calls.h"
#include "driver/thread_stack.h"

namespace snoopie {

namespace {

// Of this thread's calls that are between entry and exit.
thread_local ThreadStack<Launch> under_way;
thread_local ThreadStack<GraphLaunch> graphs_under_way;

}  // namespace

void LaunchEvents::at_launch(CUcontext context, bool is_exit, const LaunchCall& call, bool succeeded) {
    if (is_exit) {
        auto launch = under_way.pop();
        if (launch && launch->captured && succeeded) nodes_->captured(context, call);
        if (launch) launches_->after(std::move(*launch), succeeded);
    } else if (capturing(call.stream)) {
        if (call.changes_on_device) nodes_->changes_on_device();
        nodes_->added(context, call, true);
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

void LaunchEvents::at_graph_launch(CUcontext context, bool is_exit, CUgraphExec graph, CUstream stream, bool succeeded) {
    if (!is_exit) return graphs_under_way.push(graphs_->before(context, graph, stream));
    if (auto launch = graphs_under_way.pop()) graphs_->after(std::move(*launch), succeeded);
}

void LaunchEvents::at_graph_kernel(CUcontext context, CUfunction function, CUstream stream, uint64_t launch_handle) {
    if (!graphs_under_way.empty()) graphs_->at_kernel(&graphs_under_way.top(), context, function, stream, launch_handle);
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
    if (const auto kernel = graph_kernel(context, cbid, params)) nodes_->added(kernel->context, kernel->call, kernel->new_node);
    if (is_conditional_node(cbid, params)) not_followed_("conditional graph nodes");
}

void LaunchEvents::after_node(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
    const auto kernel = graph_kernel(context, cbid, params);
    if (!kernel) return;
    switch (cbid) {
        case API_CUDA_cuGraphExecKernelNodeSetParams:
        case API_CUDA_cuGraphExecKernelNodeSetParams_v2:
        case API_CUDA_cuGraphExecNodeSetParams:
            // The executable graph comes first in all of their parameters.
            return changed(static_cast<const cuGraphExecKernelNodeSetParams_params*>(params)->hGraphExec);
        case API_CUDA_cuGraphKernelNodeSetParams:
        case API_CUDA_cuGraphKernelNodeSetParams_v2:
        case API_CUDA_cuGraphNodeSetParams:
            return nodes_->removed(static_cast<const cuGraphKernelNodeSetParams_params*>(params)->hNode);
        default:
            // What adds one: its handle comes first in all of their parameters.
            return nodes_->added(*static_cast<const cuGraphAddKernelNode_params*>(params)->phGraphNode, kernel->context, kernel->call);
    }
}

void LaunchEvents::changed(CUgraphExec graph) {
    graphs_->changed(graph);
    nodes_->destroyed(graph);
}

void LaunchEvents::at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const void* params, bool succeeded) {
    switch (cbid) {
        case API_CUDA_cuGraphLaunch:
        case API_CUDA_cuGraphLaunch_ptsz: {
            const auto& p = *static_cast<const cuGraphLaunch_params*>(params);
            return at_graph_launch(context, is_exit, p.hGraph, stream_of(p.hStream, cbid == API_CUDA_cuGraphLaunch_ptsz), succeeded);
        }
        case API_CUDA_cuGraphExecUpdate:
        case API_CUDA_cuGraphExecUpdate_v2: {
            // Both have the same parameters first.
            const auto& p = *static_cast<const cuGraphExecUpdate_v2_params*>(params);
            if (succeeded) changed(p.hGraphExec);
            if (succeeded) nodes_->instantiated(p.hGraphExec, p.hGraph);
            return;
        }
        case API_CUDA_cuGraphExecChildGraphNodeSetParams:
            if (succeeded) changed(static_cast<const cuGraphExecChildGraphNodeSetParams_params*>(params)->hGraphExec);
            return;
        case API_CUDA_cuGraphExecDestroy:
            // Before the handle can be another graph's.
            if (!is_exit) {
                const CUgraphExec graph = static_cast<const cuGraphExecDestroy_params*>(params)->hGraphExec;
                graphs_->destroyed(graph);
                nodes_->destroyed(graph);
            }
            return;
#define ON(call, ...)                                               \
    case API_CUDA_##call: {                                         \
        const auto& p = *static_cast<const call##_params*>(params); \
        __VA_ARGS__;                                                \
        return;                                                     \
    }
            ON(cuGraphInstantiate, if (succeeded) nodes_->instantiated(*p.phGraphExec, p.hGraph))
            ON(cuGraphInstantiate_v2, if (succeeded) nodes_->instantiated(*p.phGraphExec, p.hGraph))
            ON(cuGraphInstantiateWithFlags, if (succeeded) nodes_->instantiated(*p.phGraphExec, p.hGraph))
            ON(cuGraphInstantiateWithParams, if (succeeded) nodes_->instantiated(*p.phGraphExec, p.hGraph))
            ON(cuGraphInstantiateWithParams_ptsz, if (succeeded) nodes_->instantiated(*p.phGraphExec, p.hGraph))
            // Before their handles can be others'.
            ON(cuStreamDestroy, if (!is_exit) launches_->stream_ending(context, p.hStream))
            ON(cuStreamDestroy_v2, if (!is_exit) launches_->stream_ending(context, p.hStream))
            ON(cuGraphDestroy, if (!is_exit) nodes_->removed(p.hGraph))
            ON(cuGraphDestroyNode, if (!is_exit) nodes_->removed(p.hNode))
#undef ON
        case API_CUDA_cuGraphKernelNodeSetAttribute:
            if (static_cast<const cuGraphKernelNodeSetAttribute_params*>(params)->attr == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
                nodes_->changes_on_device();
            return;
        case API_CUDA_cuGraphNodeSetEnabled:
            if (succeeded && !static_cast<const cuGraphNodeSetEnabled_params*>(params)->isEnabled) nodes_->node_disabled();
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
