// Whose memory the ends of a copy are, and what a graph copies when it is launched.
#include <vector>

#include "calls/copy_ends.h"
#include "calls/copy_graph.h"
#include "check.h"

using namespace snoopie;

namespace {

// Handles that are never looked into.
template <class Handle>
Handle* handle(uint64_t value) {
    return reinterpret_cast<Handle*>(value);
}

// GPU 1 owns 0x1000, pinned host memory is at 0x2000, a variable of a module on GPU 2 at 0x3000, a multicast object at 0x4000. Array 7 is
// on GPU 1. Context 10 + n is one of GPU n.
class Machine : public OwnerLookup {
  public:
    uint8_t owner_of(uint64_t address) const override {
        if (address == 0x1000) return 1;
        return address == 0x4000 ? kFirstSet : kOwnerHost;
    }
    uint8_t owner_of_array(CUarray_st* array) const override { return array == handle<CUarray_st>(7) ? 1 : kOwnerUnknown; }
    uint8_t gpu_of(CUctx_st* context) const override { return static_cast<uint8_t>(reinterpret_cast<uint64_t>(context) - 10); }
    std::optional<uint8_t> owner_by_driver(uint64_t address) const override {
        asked.push_back(address);
        if (address == 0x2000) return kOwnerHost;
        if (address == 0x3000) return 2;
        return std::nullopt;
    }
    mutable std::vector<uint64_t> asked;
};

void owners() {
    const Machine machine;
    const auto owner = [&](const CopyEnd& end) { return int{owner_of(end, machine, handle<CUctx_st>(10))}; };
    for (const MemoryType memory : {MemoryType::any, MemoryType::host, MemoryType::device}) CHECK_EQ(owner({memory, 0x1000}), 1);
    CHECK_EQ(owner({MemoryType::any, 0x4000}), int{kFirstSet});
    CHECK_EQ(owner({MemoryType::host, 0x9000}), int{kOwnerHost});
    CHECK(machine.asked.empty());  // what the map knows, and host memory by its name, costs no driver call

    for (const MemoryType memory : {MemoryType::any, MemoryType::device}) {
        CHECK_EQ(owner({memory, 0x2000}), int{kOwnerHost});
        CHECK_EQ(owner({memory, 0x3000}), 2);
    }
    CHECK_EQ(machine.asked.size(), 4u);
    CHECK_EQ(owner({MemoryType::any, 0x9000}), int{kOwnerHost});  // pageable
    CHECK_EQ(owner({MemoryType::device, 0x9000}), 0);             // of the calling context
    CHECK_EQ(owner({MemoryType::device, 0x9000, nullptr, handle<CUctx_st>(13)}), 3);
    CHECK_EQ(owner({MemoryType::device, 0x1000, nullptr, handle<CUctx_st>(13)}), 1);  // the address says more than the context

    CHECK_EQ(owner({MemoryType::array, 0, handle<CUarray_st>(7)}), 1);
    CHECK_EQ(owner({MemoryType::array, 0, handle<CUarray_st>(8)}), int{kOwnerUnknown});
    CHECK_EQ(owner({MemoryType::any, 0x1000, nullptr, nullptr, uint8_t{5}}), 5);  // as the call says
}

void crossing() {
    CHECK(crosses(0, 1));
    CHECK(crosses(kOwnerHost, 0));
    CHECK(crosses(0, kOwnerHost));
    CHECK(crosses(0, kFirstSet));
    CHECK(crosses(kOwnerUnknown, 0));
    CHECK(crosses(kOwnerUnknown, kOwnerUnknown));
    CHECK(!crosses(2, 2));
    CHECK(!crosses(kOwnerHost, kOwnerHost));
}

CopyNode memcpy_node(uint64_t node, uint64_t size) {
    CopyNode made{handle<CUgraphNode_st>(node)};
    made.copy.emplace();
    made.copy->size = size;
    return made;
}

CopyNode child_node(uint64_t node, CopyGraph nodes) { return {handle<CUgraphNode_st>(node), true, std::nullopt, std::move(nodes)}; }

std::vector<uint64_t> sizes(const CopyGraphs& graphs, CUgraphExec_st* graph) {
    std::vector<uint64_t> found;
    for (const CopyCall& copy : graphs.copies(graph)) found.push_back(copy.size);
    return found;
}

using Sizes = std::vector<uint64_t>;

void graphs_that_change() {
    CopyGraphs graphs;
    CUgraphExec_st* const one = handle<CUgraphExec_st>(1);
    CUgraphExec_st* const other = handle<CUgraphExec_st>(2);
    const auto node = [](uint64_t value) { return handle<CUgraphNode_st>(value); };
    const auto changed = [](uint64_t size) {
        CopyCall copy;
        copy.size = size;
        return copy;
    };
    const CopyGraph nodes = {memcpy_node(11, 100), child_node(12, {memcpy_node(21, 200), child_node(22, {memcpy_node(31, 300)})})};
    graphs.instantiated(one, nodes);
    graphs.instantiated(other, nodes);
    CHECK(sizes(graphs, one) == (Sizes{100, 200, 300}));

    graphs.enabled(one, node(11), false);
    CHECK(sizes(graphs, one) == (Sizes{200, 300}));
    CHECK(sizes(graphs, other) == (Sizes{100, 200, 300}));
    graphs.updated(one, node(11), changed(101));  // keeps its switch
    CHECK(sizes(graphs, one) == (Sizes{200, 300}));
    graphs.enabled(one, node(11), true);
    graphs.updated(one, node(31), changed(301));
    CHECK(sizes(graphs, one) == (Sizes{101, 200, 301}));

    // Another graph of the same shape, whose nodes have other handles: those of the first one stay valid.
    graphs.enabled(one, node(21), false);
    graphs.updated(one, {memcpy_node(41, 110), child_node(42, {memcpy_node(51, 210), child_node(52, {memcpy_node(61, 310)})})});
    CHECK(sizes(graphs, one) == (Sizes{110, 310}));
    graphs.enabled(one, node(21), true);
    CHECK(sizes(graphs, one) == (Sizes{110, 210, 310}));
    graphs.updated(one, node(12), {memcpy_node(71, 220), child_node(72, {memcpy_node(81, 320)})});
    CHECK(sizes(graphs, one) == (Sizes{110, 220, 320}));
    CHECK(sizes(graphs, other) == (Sizes{100, 200, 300}));

    graphs.updated(one, node(99), changed(1));
    graphs.enabled(handle<CUgraphExec_st>(3), node(11), false);
    graphs.updated(one, {memcpy_node(41, 111)});  // of another shape: no reason to fall over
    CHECK(sizes(graphs, one) == (Sizes{111, 220, 320}));

    graphs.destroyed(one);
    CHECK(sizes(graphs, one).empty());
    graphs.instantiated(other, {});  // a new graph with an old handle
    CHECK(sizes(graphs, other).empty());
}

}  // namespace

int main() {
    owners();
    crossing();
    graphs_that_change();
    return test::summary("copies");
}
