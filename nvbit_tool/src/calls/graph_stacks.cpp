#include "calls/graph_stacks.h"

#include <algorithm>

namespace snoopie {

void GraphStacks::added(CUgraphNode_st* node, const Kernel& kernel, uint32_t stack) {
    const std::unique_lock lock(mutex_);
    nodes_[node] = {kernel, stack};
}

void GraphStacks::removed(const std::vector<CUgraphNode_st*>& nodes) {
    const std::unique_lock lock(mutex_);
    for (CUgraphNode_st* node : nodes) nodes_.erase(node);
}

void GraphStacks::instantiated(CUgraphExec_st* graph, const std::vector<CUgraphNode_st*>& nodes) {
    const std::unique_lock lock(mutex_);
    graphs_.erase(graph);
    std::vector<Node> known;
    for (CUgraphNode_st* node : nodes) {
        const auto found = nodes_.find(node);
        if (found != nodes_.end() && found->second.kernel.function) known.push_back(found->second);
    }
    if (!known.empty()) graphs_.emplace(graph, std::move(known));
}

void GraphStacks::destroyed(CUgraphExec_st* graph) {
    const std::unique_lock lock(mutex_);
    graphs_.erase(graph);
}

uint32_t GraphStacks::of(CUgraphNode_st* node) const {
    const std::unique_lock lock(mutex_);
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? 0 : found->second.stack;
}

std::vector<uint32_t> GraphStacks::of(CUgraphExec_st* graph, const Kernel& kernel) const {
    const std::unique_lock lock(mutex_);
    std::vector<uint32_t> stacks;
    const auto found = graphs_.find(graph);
    if (found == graphs_.end()) return stacks;
    for (const Node& node : found->second)
        if (node.kernel == kernel && std::find(stacks.begin(), stacks.end(), node.stack) == stacks.end()) stacks.push_back(node.stack);
    return stacks;
}

}  // namespace snoopie
