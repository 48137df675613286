// Who put kernels and copies into CUDA graphs. What a graph does has this stack, not that of the graph's launch, which is the same for all.
//
// The driver tells which kernel of a graph runs, but not which node it is of. Nodes of the same kernel and grid are told apart no further:
// their launches have what their stacks have in common.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

struct CUgraphExec_st;
struct CUgraphNode_st;

namespace snoopie {

struct ContextFunction;

// Safe to call from any thread.
class GraphStacks {
  public:
    struct Kernel {
        // Not a handle: that of the launch that is captured is another than that of the graph's node.
        const ContextFunction* function = nullptr;
        std::array<uint32_t, 3> grid{};
        bool operator==(const Kernel& other) const { return function == other.function && grid == other.grid; }
    };

    // A node of a graph under construction, whose handle can be that of one before it.
    void added(CUgraphNode_st* node, const Kernel& kernel, uint32_t stack);
    // The same of a copy, of which the driver tells the node.
    void added(CUgraphNode_st* node, uint32_t stack) { added(node, {}, stack); }
    void removed(const std::vector<CUgraphNode_st*>& nodes);
    // Of a node of a graph under construction; 0 = unknown.
    uint32_t of(CUgraphNode_st* node) const;

    void instantiated(CUgraphExec_st* graph, const std::vector<CUgraphNode_st*>& nodes);
    void destroyed(CUgraphExec_st* graph);

    // Those of the kernel's nodes in the graph, each once; none if nothing is known of it.
    std::vector<uint32_t> of(CUgraphExec_st* graph, const Kernel& kernel) const;

  private:
    struct Node {
        Kernel kernel;
        uint32_t stack;
    };

    mutable std::mutex mutex_;
    std::unordered_map<CUgraphNode_st*, Node> nodes_;
    std::unordered_map<CUgraphExec_st*, std::vector<Node>> graphs_;
};

}  // namespace snoopie
