#include "launches/graph_nodes.h"

#include <mutex>
#include <string>
#include <vector>

#include "base/say.h"
#include "launches/launch_code.h"
#include "launches/live_calls.h"
#include "nvbit.h"

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

void GraphNodes::added(CUcontext handle, const LaunchCall& call, bool new_node) {
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

void GraphNodes::captured(CUcontext handle, const LaunchCall& call) {
    if (const CUgraphNode node = last_captured(call.stream)) added(node, handle, call);
}

void GraphNodes::added(CUgraphNode node, CUcontext handle, const LaunchCall& call) {
    Context* context = contexts_->find_for_launch(handle);
    if (!context) return;
    if (const uint32_t stack = stack_()) stacks_->added(node, {&context->function(call.function), call.grid}, stack);
}

void GraphNodes::removed(CUgraph graph) {
    const OwnCalls own;
    stacks_->removed(nodes_of(graph));
}

void GraphNodes::instantiated(CUgraphExec executable, CUgraph graph) {
    const OwnCalls own;
    stacks_->instantiated(executable, nodes_of(graph));
}

void GraphNodes::node_disabled() {
    if (!recording_->on()) return;
    const std::string text = "the program disables a node of a CUDA graph: if it is a kernel, NVBit " NVBIT_VERSION
                             " will end the program at the graph's launch";
    if (notices_->note_once(text)) say(text);
}

}  // namespace snoopie
