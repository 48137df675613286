// Launches of CUDA graphs, each of which is one of every kernel in the graph.
//
// NVBit tells which kernels those are only while the graph is launched: one after the other, always in the same order. By then the GPU may
// have begun: branches of the graph are given to it before NVBit has told of their kernels. So these get what they take before the launch:
// each has a cell for good, and its launch value is written there in the stream, in front of the graph. In a graph's first launch nothing
// is known of its kernels. Then each gets its value when NVBit tells of it, and the host waits until the GPU has it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "calls/graph_stacks.h"
#include "launches/boarding.h"
#include "launches/contexts.h"
#include "launches/launch_decision.h"
#include "launches/launch_tally.h"
#include "launches/launches.h"
#include "trace/notices.h"

namespace snoopie {

// Which kernel runs at a place of an executable graph, as its last launch had it.
struct GraphPlace {
    Context* context = nullptr;
    ContextFunction* function = nullptr;
    LaunchCall call;
    std::optional<uint32_t> stack;  // of who put it into the graph; 0 = unknown; none: nobody has asked
    std::optional<uint64_t> cell;   // none: there are no more, or nothing of it is measured
    std::optional<uint64_t> value;  // that was written there last; none: that failed
};

struct ExecutableGraph {
    std::vector<GraphPlace> kernels;  // in NVBit's order
    bool changed = false;             // since the last launch: kernels may have other parameters, other grids, and even other functions
    // Behind the last launch, which was in this stream of this context; null before the first.
    CUevent launched = nullptr;
    Context* context = nullptr;
    CUstream stream = nullptr;
};

// A launch of a graph between its entry and its exit.
struct GraphLaunch {
    CUgraphExec handle = nullptr;
    std::shared_ptr<ExecutableGraph> graph;  // null: it is not launched, but becomes part of another
    Context* context = nullptr;              // of the stream; null: nothing is measured
    CUstream stream = nullptr;
    std::vector<Launch> kernels;    // that have what they take
    size_t told = 0;                // of so many NVBit has told
    bool announced = false;         // those of which it has not
    CUevent written = nullptr;      // behind their values; null: nobody may have to wait for that
    std::optional<uint32_t> stack;  // of who launches the graph; none: nobody has asked
    std::vector<std::pair<const ContextFunction*, Decision>> decisions;
};

// Safe to call from any thread, of which one at a time launches or changes an executable graph.
class GraphLaunches {
  public:
    // `stack`: the calling thread's, 0 = unknown. `common`: what stacks have in common.
    GraphLaunches(const Contexts* contexts, LaunchDecision* decision, Boarding* boarding, Launches* launches, Notices* notices,
                  LaunchTally* tally, GraphStacks* stacks, std::function<uint32_t()> stack,
                  std::function<uint32_t(const std::vector<uint32_t>&)> common)
        : contexts_(contexts),
          decision_(decision),
          boarding_(boarding),
          launches_(launches),
          notices_(notices),
          tally_(tally),
          stacks_(stacks),
          stack_(std::move(stack)),
          common_(std::move(common)) {}

    // At the entry of a launch in a stream, of this context unless it is another's own.
    GraphLaunch before(CUcontext current, CUgraphExec handle, CUstream stream);
    // NVBit tells of the next kernel.
    void at_kernel(GraphLaunch* launch, CUcontext handle, CUfunction function, CUstream stream, uint64_t launch_handle);
    void after(GraphLaunch launch, bool worked);

    // An executable graph was changed, in a kernel or as a whole, or is about to be destroyed.
    void changed(CUgraphExec graph) { find(graph)->changed = true; }
    void destroyed(CUgraphExec graph);

  private:
    std::shared_ptr<ExecutableGraph> find(CUgraphExec graph);
    // What a kernel takes, but for its row in the trace.
    Launch board(GraphLaunch* graph, Context& context, ContextFunction& function, LaunchCall call);
    // The same for one that has sites, whose lock is held.
    void board_measured(GraphLaunch* graph, ContextFunction& function, const LaunchCall& call, Launch* launch);
    const Decision& decide(GraphLaunch* graph, const Context& context, ContextFunction& function);
    // Its row in the trace, if it has one.
    void announce(GraphLaunch* graph, GraphPlace* kernel, Launch* launch);
    // Of a kernel in its launch: of who put it into the graph or, where that is unknown, of who launches the graph.
    uint32_t stack_of(GraphLaunch* graph, GraphPlace* kernel);
    // The values of all kernels that are boarded, into their cells, in the stream; those of one context.
    void write(GraphLaunch* graph);
    static bool write(const GraphLaunch& launch, Context& context, const std::vector<ProbeMemory::CellValue>& cells);
    // That of one that NVBit tells of.
    void write_now(const GraphLaunch& launch, GraphPlace* kernel, Launch* own);
    // Its value was not written.
    void lose(Launch* launch);

    // Its launch is in the stream.
    static void launched(ExecutableGraph* graph, const GraphLaunch& launch);

    const Contexts* const contexts_;
    LaunchDecision* const decision_;
    Boarding* const boarding_;
    Launches* const launches_;
    Notices* const notices_;
    LaunchTally* const tally_;
    GraphStacks* const stacks_;
    const std::function<uint32_t()> stack_;
    const std::function<uint32_t(const std::vector<uint32_t>&)> common_;

    std::mutex mutex_;
    std::map<CUgraphExec, std::shared_ptr<ExecutableGraph>> graphs_;
};

}  // namespace snoopie
