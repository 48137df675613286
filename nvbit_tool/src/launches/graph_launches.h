// Kernels in CUDA graphs: instrumented when they get into a graph, followed when the graph is launched.
#pragma once

#include <mutex>
#include <set>

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
    GraphLaunches(const Recording* recording, const Contexts* contexts, const LaunchDecision* decision, Instrumenter* instrumenter,
                  Boarding* boarding, Notices* notices, LaunchTally* tally)
        : recording_(recording),
          contexts_(contexts),
          decision_(decision),
          instrumenter_(instrumenter),
          boarding_(boarding),
          notices_(notices),
          tally_(tally) {}

    // A kernel becomes part of a graph. `new_node`: and not new parameters of one that is there.
    void added(CUcontext handle, const LaunchCall& call, bool new_node);
    // A node of an executable graph is switched off: NVBit ends the program when such a graph is launched.
    void node_disabled();

    // A node is about to run; its launch ends with that of the graph.
    Launch before_node(CUcontext handle, const LaunchCall& call, CUgraphExec graph, uint64_t launch_handle);

    // An executable graph was updated as a whole, or destroyed.
    void updated(CUgraphExec graph);
    void destroyed(CUgraphExec graph);

  private:
    bool is_updated(CUgraphExec graph);

    const Recording* const recording_;
    const Contexts* const contexts_;
    const LaunchDecision* const decision_;
    Instrumenter* const instrumenter_;
    Boarding* const boarding_;
    Notices* const notices_;
    LaunchTally* const tally_;

    std::mutex mutex_;
    std::set<CUgraphExec> updated_;
};

}  // namespace snoopie
