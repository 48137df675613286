// Follows graphs with memcpy nodes through the driver's events.
#pragma once

#include <vector>

#include "calls/copy_graph.h"
#include "calls/graph_stacks.h"
#include "calls/not_followed.h"
#include "nvbit.h"

namespace snoopie {

class GraphCopies {
  public:
    GraphCopies(const GraphStacks* stacks, NotFollowed not_followed) : stacks_(stacks), not_followed_(std::move(not_followed)) {}

    void at_event(bool is_exit, nvbit_api_cuda_t cbid, const void* params, bool succeeded);

    // The copies of a graph that is launched now; none if the call launches no graph.
    std::vector<CopyCall> launched(nvbit_api_cuda_t cbid, const void* params) const;

  private:
    CopyGraph read(CUgraph graph);
    void instantiated(CUgraphExec executable, CUgraph graph, unsigned long long flags);
    void set_node(CUgraphExec executable, CUgraphNode node, const CUgraphNodeParams& params);

    const GraphStacks* const stacks_;
    const NotFollowed not_followed_;
    CopyGraphs graphs_;
};

}  // namespace snoopie
