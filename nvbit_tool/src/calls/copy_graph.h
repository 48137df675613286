// The memcpy nodes of executable graphs, as their next launch will run them.
#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "calls/copy_ends.h"

struct CUgraphExec_st;
struct CUgraphNode_st;

namespace snoopie {

// A memcpy node, or a node that holds a graph: its nodes of these two sorts, in the order of their making.
struct CopyNode {
    CUgraphNode_st* handle = nullptr;  // in the graph that was instantiated
    bool enabled = true;
    std::optional<CopyCall> copy{};
    std::vector<CopyNode> nodes{};
};

using CopyGraph = std::vector<CopyNode>;

// Safe to call from any thread. Whatever is said of a graph or node that is not known here changes nothing.
class CopyGraphs {
  public:
    void instantiated(CUgraphExec_st* graph, CopyGraph nodes);
    void destroyed(CUgraphExec_st* graph);

    // The parameters of all nodes are now those of another graph of the same shape. The nodes keep their handles and switches.
    void updated(CUgraphExec_st* graph, const CopyGraph& nodes);
    // The same for the nodes in the graph that a node holds.
    void updated(CUgraphExec_st* graph, CUgraphNode_st* node, const CopyGraph& nodes);
    void updated(CUgraphExec_st* graph, CUgraphNode_st* node, const CopyCall& copy);
    void enabled(CUgraphExec_st* graph, CUgraphNode_st* node, bool on);

    // What a launch copies.
    std::vector<CopyCall> copies(CUgraphExec_st* graph) const;

  private:
    template <class Change>
    void change(CUgraphExec_st* graph, CUgraphNode_st* node, Change apply);

    mutable std::mutex mutex_;
    std::unordered_map<CUgraphExec_st*, CopyGraph> graphs_;
};

}  // namespace snoopie
