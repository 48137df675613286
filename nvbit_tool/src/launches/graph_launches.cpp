#include "launches/graph_launches.h"

#include "base/say.h"
#include "launches/launch_code.h"
#include "launches/live_calls.h"
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
    const bool known = !new_node && function.instrumented && !function.by_table;
    const bool new_code = !known && instrumenter_->prepare(*context, call, &function);
    if (function.addresses)
        function.liveness.put_in_graph(*function.addresses, parameter_bytes(*function.addresses->parameters, call.parameters, call.extra));
    if (!known && function.last_site != 0) context->code().keep(function, call, new_code);
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

Launch GraphLaunches::before_node(CUcontext handle, const LaunchCall& call, CUgraphExec graph, size_t place, uint64_t launch_handle) {
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
        launch.lost = function.unmeasurable;
        if (function.last_site != 0) board(*context, function, call, graph, &launch);
    } else if (function.selected && context->memory() && decision_->reaches_foreign(*context)) {
        ++tally_->lost;
        launch.lost = true;
        notices_->note_once("kernel " + without_arguments(function.name) +
                            " entered a CUDA graph unnoticed: its launches by the graph are not measured");
    }
    uint64_t value = launch.flight ? context->launch_value(*launch.flight) : kLaunchUncounted;
    if (function.instrumented && function.last_site != 0 && context->memory()) value = given(*context, graph, place, value, call.stream);
    nvbit_set_at_launch(handle, call.function, value, call.stream, launch_handle);
    return launch;
}

void GraphLaunches::board(Context& context, ContextFunction& function, const LaunchCall& call, CUgraphExec graph, Launch* launch) {
    const Decision decision = decision_->decide_for_graphs(context, function);
    const bool needs_probes = decision.code != Code::original;
    if (needs_probes) launch->flight = boarding_->board(context, function, call, decision);
    // The node has a value of its own.
    const std::optional<uint64_t> value = launch->flight ? std::optional(kLaunchUncounted) : std::nullopt;
    if (!context.code().choose(function, call, value, false, decision.live)) boarding_->lose(context, &launch->flight);
    ++function.nodes_under_way;
    launch->node_of = &function;
    launch->lost = needs_probes && !launch->flight;
    if (launch->lost) return;
    const std::vector<uint32_t> stacks = stacks_->of(graph, {&function, call.grid});
    const std::optional<uint32_t> stack = stacks.empty() ? std::nullopt : std::optional(common_(stacks));
    if (launch->flight) return boarding_->announce(context, *launch->flight, call, stack);
    boarding_->without_probes(context, function, call, stack);
    launch->without_probes = &function;
}

// What NVBit gives a node is among its constants, of which the GPU keeps some between launches of the graph: later ones would read what was
// given to one before. So a node has a cell for good, and each launch of the graph writes its value there, in its stream.
uint64_t GraphLaunches::given(Context& context, CUgraphExec graph, size_t place, uint64_t value, CUstream stream) {
    std::unique_lock lock(mutex_);
    std::vector<Cell>& cells = cells_[graph];
    if (cells.size() <= place) cells.resize(place + 1);
    Cell& cell = cells[place];
    if (!cell.context) {
        const std::optional<uint64_t> taken = context.take_launch_cell();
        if (!taken) {
            notices_->note_once(
                "there are more kernels in CUDA graphs than can be told apart: what a launch of a graph does may count as done by a launch "
                "of "
                "it before; sums are right");
            return value;
        }
        cell = {&context, *taken};
    }
    const bool written = cell.context == &context && context.memory()->write_launch_cell(cell.value, value, stream);
    return written ? cell.value : value;
}

void GraphLaunches::updated(CUgraphExec graph) {
    std::unique_lock lock(mutex_);
    updated_.insert(graph);
    stacks_->destroyed(graph);
}

void GraphLaunches::destroyed(CUgraphExec graph) {
    std::unique_lock lock(mutex_);
    updated_.erase(graph);
    if (const auto found = cells_.find(graph); found != cells_.end()) {
        for (const Cell& cell : found->second)
            if (cell.context) cell.context->give_back_launch_cell(cell.value);
        cells_.erase(found);
    }
    stacks_->destroyed(graph);
}

bool GraphLaunches::is_updated(CUgraphExec graph) {
    std::unique_lock lock(mutex_);
    return updated_.count(graph) > 0;
}

}  // namespace snoopie
