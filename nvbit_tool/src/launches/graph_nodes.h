// Kernels that get into CUDA graphs are instrumented there; and whose stack their launches have.
#pragma once

#include <functional>

#include "calls/graph_stacks.h"
#include "launches/contexts.h"
#include "launches/instrumenter.h"
#include "launches/launch_decision.h"
#include "trace/notices.h"

namespace snoopie {

// Safe to call from any thread.
class GraphNodes {
  public:
    // `stack`: the calling thread's, 0 = unknown.
    GraphNodes(const Recording* recording, const Contexts* contexts, LaunchDecision* decision, Instrumenter* instrumenter, Notices* notices,
               GraphStacks* stacks, std::function<uint32_t()> stack)
        : recording_(recording),
          contexts_(contexts),
          decision_(decision),
          instrumenter_(instrumenter),
          notices_(notices),
          stacks_(stacks),
          stack_(std::move(stack)) {}

    // A kernel becomes part of a graph. `new_node`: and not new parameters of one that is there.
    void added(CUcontext handle, const LaunchCall& call, bool new_node);
    // That has succeeded: as the last node of what the stream captures, or as this node.
    void captured(CUcontext handle, const LaunchCall& call);
    void added(CUgraphNode node, CUcontext handle, const LaunchCall& call);
    // A graph is about to be destroyed, or a node; and one has become executable.
    void removed(CUgraph graph);
    void removed(CUgraphNode node) { stacks_->removed({node}); }
    void instantiated(CUgraphExec executable, CUgraph graph);
    // Which of an executable graph's kernels is whose is no longer known.
    void destroyed(CUgraphExec executable) { stacks_->destroyed(executable); }
    // Kernels can change the parameters of a node.
    void changes_on_device() { decision_->nodes_change_on_device(); }
    // A node of an executable graph is switched off: NVBit ends the program when such a graph is launched.
    void node_disabled();

  private:
    const Recording* const recording_;
    const Contexts* const contexts_;
    LaunchDecision* const decision_;
    Instrumenter* const instrumenter_;
    Notices* const notices_;
    GraphStacks* const stacks_;
    const std::function<uint32_t()> stack_;
};

}  // namespace snoopie
