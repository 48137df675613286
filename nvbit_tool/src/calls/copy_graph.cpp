#include "calls/copy_graph.h"

#include <algorithm>

namespace snoopie {

namespace {

CopyNode* find(CopyGraph& nodes, CUgraphNode_st* handle) {
    for (CopyNode& node : nodes) {
        if (node.handle == handle) return &node;
        if (CopyNode* found = find(node.nodes, handle)) return found;
    }
    return nullptr;
}

void replace_copies(CopyGraph* nodes, const CopyGraph& others) {
    const size_t both = std::min(nodes->size(), others.size());
    for (size_t i = 0; i < both; ++i) {
        (*nodes)[i].copy = others[i].copy;
        replace_copies(&(*nodes)[i].nodes, others[i].nodes);
    }
}

void collect(const CopyGraph& nodes, std::vector<CopyCall>* copies) {
    for (const CopyNode& node : nodes) {
        if (!node.enabled) continue;
        if (node.copy) copies->push_back(*node.copy);
        collect(node.nodes, copies);
    }
}

}  // namespace

void CopyGraphs::instantiated(CUgraphExec_st* graph, CopyGraph nodes) {
    std::unique_lock lock(mutex_);
    if (nodes.empty()) {
        graphs_.erase(graph);  // of an earlier graph with this handle
    } else {
        graphs_[graph] = std::move(nodes);
    }
}

void CopyGraphs::destroyed(CUgraphExec_st* graph) {
    std::unique_lock lock(mutex_);
    graphs_.erase(graph);
}

void CopyGraphs::updated(CUgraphExec_st* graph, const CopyGraph& nodes) {
    std::unique_lock lock(mutex_);
    const auto found = graphs_.find(graph);
    if (found != graphs_.end()) replace_copies(&found->second, nodes);
}

template <class Change>
void CopyGraphs::change(CUgraphExec_st* graph, CUgraphNode_st* node, Change apply) {
    std::unique_lock lock(mutex_);
    const auto found = graphs_.find(graph);
    if (found == graphs_.end()) return;
    if (CopyNode* target = find(found->second, node)) apply(target);
}

void CopyGraphs::updated(CUgraphExec_st* graph, CUgraphNode_st* node, const CopyGraph& nodes) {
    change(graph, node, [&](CopyNode* target) { replace_copies(&target->nodes, nodes); });
}

void CopyGraphs::updated(CUgraphExec_st* graph, CUgraphNode_st* node, const CopyCall& copy) {
    change(graph, node, [&](CopyNode* target) { target->copy = copy; });
}

void CopyGraphs::enabled(CUgraphExec_st* graph, CUgraphNode_st* node, bool on) {
    change(graph, node, [&](CopyNode* target) { target->enabled = on; });
}

std::vector<CopyCall> CopyGraphs::copies(CUgraphExec_st* graph) const {
    std::vector<CopyCall> copies;
    std::unique_lock lock(mutex_);
    const auto found = graphs_.find(graph);
    if (found != graphs_.end()) collect(found->second, &copies);
    return copies;
}

}  // namespace snoopie
