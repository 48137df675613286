#include "calls/graph_kernels.h"

namespace snoopie {

namespace {

// A node's kernel, by its function or, in newer calls, by a kernel of the node's context.
CUfunction kernel_of(const CUDA_KERNEL_NODE_PARAMS_v1& node, CUcontext*) { return node.func; }
template <class Node>
CUfunction kernel_of(const Node& node, CUcontext* context) {
    if (node.func || !node.kern) return node.func;
    if (node.ctx) *context = node.ctx;
    const CurrentContext there(*context);
    CUfunction function = nullptr;
    return cuKernelGetFunction(&function, node.kern) == CUDA_SUCCESS ? function : nullptr;
}

template <class Node>
std::optional<GraphKernel> read(CUcontext context, const Node& node, bool new_node) {
    const CUfunction function = kernel_of(node, &context);
    if (!function) return std::nullopt;
    return GraphKernel{
        context, {function, nullptr, {node.gridDimX, node.gridDimY, node.gridDimZ}, {}, 0, node.kernelParams, node.extra}, new_node};
}

std::optional<GraphKernel> read(CUcontext context, const CUgraphNodeParams& node, bool new_node) {
    return node.type == CU_GRAPH_NODE_TYPE_KERNEL ? read(context, node.kernel, new_node) : std::nullopt;
}

template <class Node>
bool is_conditional(const Node&) {
    return false;
}
bool is_conditional(const CUgraphNodeParams& node) { return node.type == CU_GRAPH_NODE_TYPE_CONDITIONAL; }

// Calls `action` with the parameters of the node that the call is about, if there are any, and with whether the node is new.
template <class Action>
void look_at_node(nvbit_api_cuda_t cbid, const void* params, Action action) {
#define ON(call, new_node)                                                              \
    case API_CUDA_##call: {                                                             \
        const auto* const node = static_cast<const call##_params*>(params)->nodeParams; \
        if (node) action(*node, new_node);                                              \
        return;                                                                         \
    }
    switch (cbid) {
        ON(cuGraphAddKernelNode, true)
        ON(cuGraphAddKernelNode_v2, true)
        ON(cuGraphKernelNodeSetParams, false)
        ON(cuGraphKernelNodeSetParams_v2, false)
        ON(cuGraphExecKernelNodeSetParams, false)
        ON(cuGraphExecKernelNodeSetParams_v2, false)
        ON(cuGraphAddNode, true)
        ON(cuGraphAddNode_v2, true)
        ON(cuGraphNodeSetParams, false)
        ON(cuGraphExecNodeSetParams, false)
        default:
            return;
    }
#undef ON
}

}  // namespace

std::optional<GraphKernel> graph_kernel(CUcontext current, nvbit_api_cuda_t cbid, const void* params) {
    std::optional<GraphKernel> kernel;
    look_at_node(cbid, params, [&](const auto& node, bool new_node) { kernel = read(current, node, new_node); });
    return kernel;
}

bool is_conditional_node(nvbit_api_cuda_t cbid, const void* params) {
    bool conditional = false;
    look_at_node(cbid, params, [&](const auto& node, bool) { conditional = is_conditional(node); });
    return conditional;
}

}  // namespace snoopie
