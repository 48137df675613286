// Which stacks the kernels of executable graphs have, while graphs and nodes come and go.
#include <vector>

#include "calls/graph_stacks.h"
#include "check.h"

using namespace snoopie;

namespace {

template <class Handle>
Handle* handle(uintptr_t number) {
    return reinterpret_cast<Handle*>(number);
}
CUgraphNode_st* node(uintptr_t number) { return handle<CUgraphNode_st>(number); }
CUgraphExec_st* graph(uintptr_t number) { return handle<CUgraphExec_st>(number); }

const GraphStacks::Kernel put{handle<const ContextFunction>(1), {4, 1, 1}};
const GraphStacks::Kernel wider{handle<const ContextFunction>(1), {8, 1, 1}};
const GraphStacks::Kernel get{handle<const ContextFunction>(2), {4, 1, 1}};

using Stacks = std::vector<uint32_t>;

}  // namespace

int main() {
    GraphStacks stacks;
    stacks.added(node(1), put, 10);
    stacks.added(node(2), wider, 20);
    stacks.added(node(3), get, 30);
    stacks.added(node(4), get, 31);
    stacks.added(node(5), get, 30);
    stacks.instantiated(graph(1), {node(1), node(2), node(3), node(4), node(5), node(9)});
    CHECK(stacks.of(graph(1), put) == (Stacks{10}));
    CHECK(stacks.of(graph(1), wider) == (Stacks{20}));
    CHECK(stacks.of(graph(1), get) == (Stacks{30, 31}));
    CHECK(stacks.of(graph(2), put).empty());

    // What is executable lives on without the graph that it was made from, whose handles others have then.
    stacks.removed({node(1), node(2), node(3), node(4), node(5)});
    stacks.added(node(1), get, 40);
    stacks.instantiated(graph(2), {node(1), node(2)});
    CHECK(stacks.of(graph(1), put) == (Stacks{10}));
    CHECK(stacks.of(graph(2), get) == (Stacks{40}));
    CHECK(stacks.of(graph(2), wider).empty());

    stacks.destroyed(graph(1));
    CHECK(stacks.of(graph(1), put).empty());
    stacks.instantiated(graph(2), {node(7)});  // another one with this handle
    CHECK(stacks.of(graph(2), get).empty());
    return test::summary("graph_stacks");
}
