#include "launches/graph_launches.h"

#include "base/say.h"
#include "launches/launch_code.h"
#include "nvbit.h"
#include "settings/kernel_filter.h"

namespace snoopie {

namespace {

std::vector<CUgraphNode> nodes_of(CUgraph graph) {
    size_t count = 0;
    if (!succeeded(cuGraphGetNodes(graph, nullptr, &count)) || count == 0) return {};
    std::vector<CUgraphNode> nodes(count);
    if (!succeeded(cuGraphGetNodes(graph, nodes.data(), &count))) return {};
    nodes.resize(count);
    return nodes;
}

}  // namespace

void GraphLaunches::added(CUcontext handle, const LaunchCall& call, bool new_node) {
    Context* context = contexts_->find_for_launch(handle);
    if (!context || !context->memory()) return;
    const OwnCalls own;
    ContextFunction& function = decision_->function(*context, call.function);
    if (!function.selected) return;
    const std::unique_lock lock(function.launching);
    if (!new_node && function.instrumented && !function.by_table) return;
    const bool new_code = instrumenter_->prepare(*context, call, &function);
    if (function.last_site != 0) context->code().keep(function, call, new_code);
}

void GraphLaunches::captured(CUcontext handle, const LaunchCall& call) {
    if (const CUgraphNode node = last_captured(call.stream)) added(node, handle, call);
}

void GraphLaunches::added(CUgraphNode node, CUcontext handle, const LaunchCall& call) {
    Context* context = contexts_->find_for_launch(handle);
    if (!context) return;
    if (const uint32_t stack = stack_()) stacks_->added(node, {&context->function(call.function), call.grid}, stack);
}

void GraphLaunches::removed(CUgraph graph) {
    const OwnCalls own;
    stacks_->removed(nodes_of(graph));
}

void GraphLaunches::instantiated(CUgraphExec executable, CUgraph graph) {
    const OwnCalls own;
    stacks_->instantiated(executable, nodes_of(graph));
}

void GraphLaunches::node_disabled() {
    if (!recording_->on()) return;
    const std::string text = "the program disables a node of a CUDA graph: if it is a kernel, NVBit " NVBIT_VERSION
                             " will end the program at the graph's launch";
    if (notices_->note_once(text)) say(text);
}

Launch GraphLaunches::before_node(CUcontext handle, const LaunchCall& call, CUgraphExec graph, uint64_t launch_handle) {
    Launch launch;
    Context* context = contexts_->find_for_launch(handle);
    if (!context) return launch;
    ++tally_->seen;
    const OwnCalls own;
    ContextFunction& function = decision_->function(*context, call.function);
    launch.context = context;
    launch.stream = call.stream;
    launch.outside = function.selected && !decision_->inside(*context);
    if (launch.outside) {
        // Its code stays as it is, and counts for nobody.
    } else if (function.selected && is_updated(graph)) {
        ++tally_->lost;
        launch.lost = true;
        notices_->note_once(
            "the program updates an executable CUDA graph (cudaGraphExecUpdate): its kernels are not measured from then on, because "
            "NVBit can no longer distinguish their launches");
    } else if (function.selected && function.instrumented) {
        const std::unique_lock lock(function.launching);
        ++function.launches;
        boarding_->prepare(*context, function, call);
        if (function.last_site != 0) launch.flight = boarding_->board(*context, function, {});
        if (launch.flight && !context->code().in_place(function, call.stream)) boarding_->lose(*context, &launch.flight);
        if (launch.flight) {
            const std::vector<uint32_t> stacks = stacks_->of(graph, {&function, call.grid});
            boarding_->announce(*context, *launch.flight, call, stacks.empty() ? std::nullopt : std::optional(common_(stacks)));
        }
        launch.lost = !launch.flight && (function.last_site != 0 || function.unmeasurable);
    } else if (function.selected && context->memory() && decision_->reaches_foreign(*context)) {
        ++tally_->lost;
        launch.lost = true;
        notices_->note_once("kernel " + without_arguments(function.name) +
                            " entered a CUDA graph unnoticed: its launches by the graph are not measured");
    }
    nvbit_set_at_launch(handle, call.function, launch.flight ? context->launch_value(*launch.flight) : kLaunchUncounted, call.stream,
                        launch_handle);
    return launch;
}

void GraphLaunches::updated(CUgraphExec graph) {
    std::unique_lock lock(mutex_);
    updated_.insert(graph);
    stacks_->destroyed(graph);
}

void GraphLaunches::destroyed(CUgraphExec graph) {
    std::unique_lock lock(mutex_);
    updated_.erase(graph);
    stacks_->destroyed(graph);
}

bool GraphLaunches::is_updated(CUgraphExec graph) {
    std::unique_lock lock(mutex_);
    return updated_.count(graph) > 0;
}

}  // namespace snoopie
