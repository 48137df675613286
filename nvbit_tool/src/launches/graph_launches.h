// Kernels in CUDA graphs: instrumented when they get into a graph, followed when the graph is launched. Their stacks are those of the
// former.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "calls/graph_stacks.h"
#include "launches/boarding.h"
#include "launches/contexts.h"
#include "launches/instrumenter.h"
#include "launches/launch_decision.h"
#include "launches/launch_tally.h"
#include "launches/launches.h"
#include "trace/notices.h"

namespace snoopie {

// Safe to call from any thread.
class GraphLaunches {
  public:
    GraphLaunches(const Recording* recording, const Contexts* contexts, LaunchDecision* decision, Instrumenter* instrumenter,
                  Boarding* boarding, Notices* notices, LaunchTally* tally, GraphStacks* stacks, std::function<uint32_t()> stack,
                  std::function<uint32_t(const std::vector<uint32_t>&)> common)
        : recording_(recording),
          contexts_(contexts),
          decision_(decision),
          instrumenter_(instrumenter),
          boarding_(boarding),
          notices_(notices),
          tally_(tally),
          stack_(std::move(stack)),
          common_(std::move(common)),
          stacks_(stacks) {}

    // A kernel becomes part of a graph. `new_node`: and not new parameters of one that is there.
    void added(CUcontext handle, const LaunchCall& call, bool new_node);
    // That has succeeded: as the last node of what the stream captures, or as this node.
    void captured(CUcontext handle, const LaunchCall& call);
    void added(CUgraphNode node, CUcontext handle, const LaunchCall& call);
    // A graph is about to be destroyed, or a node; and one has become executable.
    void removed(CUgraph graph);
    void removed(CUgraphNode node) { stacks_->removed({node}); }
    void instantiated(CUgraphExec executable, CUgraph graph);
    // A node of an executable graph has other parameters: which of its kernels is whose is no longer known.
    void set_anew(CUgraphExec executable) { stacks_->destroyed(executable); }
    // Kernels can change the parameters of a node.
    void changes_on_device() { decision_->nodes_change_on_device(); }
    // A node of an executable graph is switched off: NVBit ends the program when such a graph is launched.
    void node_disabled();

    // A node is about to run, the one at this place of the graph's launch; its own launch ends with that of the graph.
    Launch before_node(CUcontext handle, const LaunchCall& call, CUgraphExec graph, size_t place, uint64_t launch_handle);

    // An executable graph was updated as a whole, or destroyed.
    void updated(CUgraphExec graph);
    void destroyed(CUgraphExec graph);

  private:
    bool is_updated(CUgraphExec graph);
    // A node of a kernel that has sites, whose lock is held: what its launch takes.
    void board(Context& context, ContextFunction& function, const LaunchCall& call, CUgraphExec graph, Launch* launch);
    // What NVBit is to give the node for this value.
    uint64_t given(Context& context, CUgraphExec graph, size_t place, uint64_t value, CUstream stream);

    const Recording* const recording_;
    const Contexts* const contexts_;
    LaunchDecision* const decision_;
    Instrumenter* const instrumenter_;
    Boarding* const boarding_;
    Notices* const notices_;
    LaunchTally* const tally_;

    const std::function<uint32_t()> stack_;                               // the calling thread's, 0 = unknown
    const std::function<uint32_t(const std::vector<uint32_t>&)> common_;  // what stacks have in common
    GraphStacks* const stacks_;

    std::mutex mutex_;
    std::set<CUgraphExec> updated_;
    struct Cell {
        Context* context = nullptr;
        uint64_t value = 0;
    };
    std::map<CUgraphExec, std::vector<Cell>> cells_;  // by places
};

}  // namespace snoopie
