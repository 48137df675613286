// NVBit's callbacks: they sort driver events and hand them to the collector.
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector.h"
#include "driver/driver_end.h"
#include "driver/injection.h"
#include "driver/thread_stack.h"
#include "nvbit.h"
#include "settings/options.h"

using snoopie::capturing;
using snoopie::Collector;
using snoopie::context_of;
using snoopie::Launch;
using snoopie::LaunchCall;
using snoopie::OwnCalls;
using snoopie::stream_of;

namespace {

// Never deleted: callbacks of other threads can still come while the process ends.
Collector* collector = nullptr;
std::once_flag started;

// Of this thread's calls that are between entry and exit.
thread_local snoopie::ThreadStack<Launch> launches;
thread_local CUgraphExec launching_graph = nullptr;

__attribute__((constructor(101))) void at_load() {
    snoopie::name_the_tool_to_the_driver();
    // Handlers run in reverse order: this one after those of the program and of the driver.
    std::atexit([] {
        if (collector) collector->close();
    });
}

void start() {
    snoopie::driver_started();
    const auto settings = snoopie::read_options(getenv);
    if (const auto* error = std::get_if<snoopie::OptionError>(&settings)) {
        fflush(nullptr);
        fprintf(stderr, "snoopie: %s\n", error->sentence.c_str());
        _exit(2);
    }
    collector = new Collector(std::get<snoopie::Options>(settings), [] { nvbit_set_tool_pthread(pthread_self()); });
    // Runs before the driver's own end, which was registered earlier.
    std::atexit([] { collector->finish(); });
}

// Cooperative launches have no such member.
template <class Params>
auto extra_of(const Params& params, int) -> decltype(params.extra) {
    return params.extra;
}
template <class Params>
void** extra_of(const Params&, long) {
    return nullptr;
}

// What cuFuncSetBlockShape said last, for the launch calls of CUDA 3 and before.
class BlockShapes {
  public:
    void set(CUfunction function, std::array<uint32_t, 3> shape) {
        std::unique_lock lock(mutex_);
        shapes_[function] = shape;
    }
    std::array<uint32_t, 3> get(CUfunction function) {
        std::unique_lock lock(mutex_);
        const auto found = shapes_.find(function);
        return found == shapes_.end() ? std::array<uint32_t, 3>{1, 1, 1} : found->second;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<CUfunction, std::array<uint32_t, 3>> shapes_;
};

// Never destroyed, like the collector.
BlockShapes& block_shapes = *new BlockShapes;

template <class Params>
LaunchCall plain_launch(const void* params, bool per_thread) {
    const auto* p = static_cast<const Params*>(params);
    return {p->f,
            stream_of(p->hStream, per_thread),
            {p->gridDimX, p->gridDimY, p->gridDimZ},
            {p->blockDimX, p->blockDimY, p->blockDimZ},
            p->sharedMemBytes,
            p->kernelParams,
            extra_of(*p, 0)};
}

// cuFuncSetBlockShape and cuParamSet say the rest, one call before another.
LaunchCall ancient_launch(CUfunction function, CUstream stream, int width, int height) {
    return {function, stream, {static_cast<uint32_t>(width), static_cast<uint32_t>(height), 1}, block_shapes.get(function)};
}

LaunchCall extended_launch(const void* params, bool per_thread) {
    const auto* p = static_cast<const cuLaunchKernelEx_params*>(params);
    const CUlaunchConfig& c = *p->config;
    return {p->f,
            stream_of(c.hStream, per_thread),
            {c.gridDimX, c.gridDimY, c.gridDimZ},
            {c.blockDimX, c.blockDimY, c.blockDimZ},
            c.sharedMemBytes,
            p->kernelParams,
            p->extra};
}

std::optional<LaunchCall> launch_call(nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuLaunchKernel:
            return plain_launch<cuLaunchKernel_params>(params, false);
        case API_CUDA_cuLaunchKernel_ptsz:
            return plain_launch<cuLaunchKernel_params>(params, true);
        case API_CUDA_cuLaunchCooperativeKernel:
            return plain_launch<cuLaunchCooperativeKernel_params>(params, false);
        case API_CUDA_cuLaunchCooperativeKernel_ptsz:
            return plain_launch<cuLaunchCooperativeKernel_params>(params, true);
        case API_CUDA_cuLaunch:
            return ancient_launch(static_cast<const cuLaunch_params*>(params)->f, CU_STREAM_LEGACY, 1, 1);
        case API_CUDA_cuLaunchGrid: {
            const auto* p = static_cast<const cuLaunchGrid_params*>(params);
            return ancient_launch(p->f, CU_STREAM_LEGACY, p->grid_width, p->grid_height);
        }
        case API_CUDA_cuLaunchGridAsync: {
            const auto* p = static_cast<const cuLaunchGridAsync_params*>(params);
            return ancient_launch(p->f, stream_of(p->hStream, false), p->grid_width, p->grid_height);
        }
        case API_CUDA_cuLaunchKernelEx:
        case API_CUDA_cuLaunchKernelEx_ptsz:
            if (!static_cast<const cuLaunchKernelEx_params*>(params)->config) return std::nullopt;  // the driver will refuse it
            return extended_launch(params, cbid == API_CUDA_cuLaunchKernelEx_ptsz);
        default:
            return std::nullopt;
    }
}

// The kernel that a call launches; null if it launches none.
CUfunction launched_kernel(nvbit_api_cuda_t cbid, const void* params) {
    const auto call = launch_call(cbid, params);
    return call ? call->function : nullptr;
}

void at_launch(CUcontext context, bool is_exit, const LaunchCall& call, bool succeeded) {
    if (is_exit) {
        if (auto launch = launches.pop()) collector->after_launch(std::move(*launch), succeeded);
    } else if (capturing(call.stream)) {
        collector->into_graph(context, call, true);
        launches.push({});
    } else if (auto native = collector->native_launch(context, call.function)) {
        launches.push(std::move(*native));
    } else if (const CUcontext there = context_of(call.stream, context); there != context) {
        // A kernel runs where its stream is, which need not be the current context's GPU.
        launches.push(collector->launch_elsewhere(there, call));
    } else {
        launches.push(collector->before_launch(context, call));
    }
}

void at_graph_launch(bool is_exit, CUgraphExec graph, bool succeeded) {
    launching_graph = is_exit ? nullptr : graph;
    if (!is_exit) return;
    // Of the nodes, announced between entry and exit.
    for (Launch& node : launches.take()) collector->after_launch(std::move(node), succeeded);
}

// One launch a device, each in the context of its stream.
void at_multi_device_launch(CUcontext context, bool is_exit, const cuLaunchCooperativeKernelMultiDevice_params& p, bool succeeded) {
    if (is_exit) {
        for (Launch& part : launches.take()) collector->after_launch(std::move(part), succeeded);
        return;
    }
    for (unsigned i = 0; p.launchParamsList && i < p.numDevices; ++i) {
        const CUDA_LAUNCH_PARAMS& l = p.launchParamsList[i];
        const LaunchCall call{
            l.function,     l.hStream, {l.gridDimX, l.gridDimY, l.gridDimZ}, {l.blockDimX, l.blockDimY, l.blockDimZ}, l.sharedMemBytes,
            l.kernelParams, nullptr};
        launches.push(collector->before_launch(context_of(l.hStream, context), call));
    }
}

// The kernel of a graph's node, by its function or, in newer calls, by a kernel of the node's context.
CUfunction kernel_of(const CUDA_KERNEL_NODE_PARAMS_v1& node, CUcontext*) { return node.func; }
template <class Node>
CUfunction kernel_of(const Node& node, CUcontext* context) {
    if (node.func || !node.kern) return node.func;
    if (node.ctx) *context = node.ctx;
    const snoopie::CurrentContext there(*context);
    CUfunction function = nullptr;
    return cuKernelGetFunction(&function, node.kern) == CUDA_SUCCESS ? function : nullptr;
}

// A kernel gets into a graph, or into another node of one: instrumented now, counted when the graph is launched. The driver has not looked
// at the parameters yet.
template <class Node>
void at_kernel_node(CUcontext context, const Node* node, bool new_node) {
    const CUfunction function = node ? kernel_of(*node, &context) : nullptr;
    if (!function) return;
    collector->into_graph(
        context, {function, nullptr, {node->gridDimX, node->gridDimY, node->gridDimZ}, {}, 0, node->kernelParams, node->extra}, new_node);
}

void at_graph_node(CUcontext context, const CUgraphNodeParams* node, bool new_node) {
    if (!node) return;
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) at_kernel_node(context, &node->kernel, new_node);
    if (node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) collector->not_followed("conditional graph nodes");
}

void at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const char* name, void* params, bool succeeded) {
    if (const auto call = launch_call(cbid, params)) return at_launch(context, is_exit, *call, succeeded);
    if (snoopie::MemoryEvents* memory = collector->memory_events()) {
        if (is_exit)
            memory->after(context, cbid, name, params, succeeded);
        else
            memory->before(cbid, params);
    }
    collector->copying(context, is_exit, cbid, name, params, succeeded);
    switch (cbid) {
        case API_CUDA_cuGraphLaunch:
        case API_CUDA_cuGraphLaunch_ptsz:
            return at_graph_launch(is_exit, static_cast<cuGraphLaunch_params*>(params)->hGraph, succeeded);
        case API_CUDA_cuGraphExecUpdate:
        case API_CUDA_cuGraphExecUpdate_v2:
        case API_CUDA_cuGraphExecChildGraphNodeSetParams:
            // The executable graph comes first in all of their parameters.
            if (succeeded) collector->graph_updated(static_cast<cuGraphExecUpdate_params*>(params)->hGraphExec, true);
            return;
        case API_CUDA_cuGraphExecDestroy:
            // Before the handle can be another graph's.
            if (!is_exit) collector->graph_updated(static_cast<cuGraphExecDestroy_params*>(params)->hGraphExec, false);
            return;
        case API_CUDA_cuLaunchCooperativeKernelMultiDevice:
            return at_multi_device_launch(context, is_exit, *static_cast<cuLaunchCooperativeKernelMultiDevice_params*>(params), succeeded);
        case API_CUDA_cuFuncSetBlockShape: {
            const auto* p = static_cast<cuFuncSetBlockShape_params*>(params);
            if (succeeded)
                block_shapes.set(p->hfunc, {static_cast<uint32_t>(p->x), static_cast<uint32_t>(p->y), static_cast<uint32_t>(p->z)});
            return;
        }
        case API_CUDA_cuGraphAddKernelNode:
            if (!is_exit) at_kernel_node(context, static_cast<cuGraphAddKernelNode_params*>(params)->nodeParams, true);
            return;
        case API_CUDA_cuGraphKernelNodeSetParams:
            if (!is_exit) at_kernel_node(context, static_cast<cuGraphKernelNodeSetParams_params*>(params)->nodeParams, false);
            return;
        case API_CUDA_cuGraphExecKernelNodeSetParams:
            if (!is_exit) at_kernel_node(context, static_cast<cuGraphExecKernelNodeSetParams_params*>(params)->nodeParams, false);
            return;
        case API_CUDA_cuGraphAddKernelNode_v2:
            if (!is_exit) at_kernel_node(context, static_cast<cuGraphAddKernelNode_v2_params*>(params)->nodeParams, true);
            return;
        case API_CUDA_cuGraphKernelNodeSetParams_v2:
            if (!is_exit) at_kernel_node(context, static_cast<cuGraphKernelNodeSetParams_v2_params*>(params)->nodeParams, false);
            return;
        case API_CUDA_cuGraphExecKernelNodeSetParams_v2:
            if (!is_exit) at_kernel_node(context, static_cast<cuGraphExecKernelNodeSetParams_v2_params*>(params)->nodeParams, false);
            return;
        case API_CUDA_cuGraphAddNode:
            if (!is_exit) at_graph_node(context, static_cast<cuGraphAddNode_params*>(params)->nodeParams, true);
            return;
        case API_CUDA_cuGraphAddNode_v2:
            if (!is_exit) at_graph_node(context, static_cast<cuGraphAddNode_v2_params*>(params)->nodeParams, true);
            return;
        case API_CUDA_cuGraphNodeSetParams:
            if (!is_exit) at_graph_node(context, static_cast<cuGraphNodeSetParams_params*>(params)->nodeParams, false);
            return;
        case API_CUDA_cuGraphExecNodeSetParams:
            if (!is_exit) at_graph_node(context, static_cast<cuGraphExecNodeSetParams_params*>(params)->nodeParams, false);
            return;
        case API_CUDA_cuGraphNodeSetEnabled:
            if (succeeded && !static_cast<cuGraphNodeSetEnabled_params*>(params)->isEnabled) collector->graph_node_disabled();
            return;
        case API_CUDA_cuTensorMapEncodeTiled:
            if (succeeded) collector->tensor_map_made(*static_cast<cuTensorMapEncodeTiled_params*>(params));
            return;
        case API_CUDA_cuMemMapArrayAsync:
        case API_CUDA_cuMemMapArrayAsync_ptsz:
            if (succeeded) collector->not_followed("sparse arrays");
            return;
        case API_CUDA_cuCtxEnablePeerAccess:
            if (succeeded) collector->peer_access(context, static_cast<cuCtxEnablePeerAccess_params*>(params)->peerContext, true);
            return;
        case API_CUDA_cuCtxDisablePeerAccess:
            if (succeeded) collector->peer_access(context, static_cast<cuCtxDisablePeerAccess_params*>(params)->peerContext, false);
            return;
        default:
            return;
    }
}

// An exception must not pass through the driver: it costs the trace, not the application.
template <class Action>
void guarded(Action action) {
    try {
        action();
    } catch (const std::exception& error) {
        if (collector) collector->give_up(error.what());
    }
}

}  // namespace

void nvbit_at_init() {
    snoopie::before_driver_ends([] {
        if (collector) guarded([] { collector->look_for_freed(); });
    });
}

void nvbit_at_term() {
    if (collector) collector->finish();
}

void nvbit_at_ctx_init(CUcontext context) {
    if (OwnCalls::active()) return;
    guarded([&] {
        std::call_once(started, start);
        collector->context_created(context);
    });
}

void nvbit_tool_init(CUcontext context) {
    if (collector) guarded([&] { collector->context_ready(context); });
}

void nvbit_at_ctx_term(CUcontext context) {
    if (collector) guarded([&] { collector->context_ending(context); });
}

void nvbit_at_graph_node_launch(CUcontext context, CUfunction function, CUstream stream, uint64_t launch_handle) {
    if (!collector) return;
    func_config_t config{};
    nvbit_get_func_config(context, function, &config);
    const LaunchCall call{function,
                          stream,
                          {config.gridDimX, config.gridDimY, config.gridDimZ},
                          {config.blockDimX, config.blockDimY, config.blockDimZ},
                          config.shmem_dynamic_nbytes};
    guarded([&] { launches.push(collector->before_graph_node(context, call, launching_graph, launch_handle)); });
}

void nvbit_at_cuda_event(CUcontext context, int is_exit, nvbit_api_cuda_t cbid, const char* name, void* params, CUresult* status) {
    if (!collector || OwnCalls::active()) return;
    const bool succeeded = is_exit && status && *status == CUDA_SUCCESS;
    // Next to the call itself, so that its time is without what the collector does at its entry and exit.
    if (is_exit && status) guarded([&] { collector->call_returns(cbid, name, params, *status); });
    guarded([&] { at_event(context, is_exit != 0, cbid, name, params, succeeded); });
    if (!is_exit) guarded([&] { collector->call_begins(context, cbid, launched_kernel(cbid, params)); });
}
