#include "calls/graph_copies.h"

#include "calls/copy_calls.h"
#include "driver/driver.h"

namespace snoopie {

CopyGraph GraphCopies::read(CUgraph graph) {
    const OwnCalls own;
    size_t count = 0;
    if (!succeeded(cuGraphGetNodes(graph, nullptr, &count))) return {};
    std::vector<CUgraphNode> handles(count);
    if (count == 0 || !succeeded(cuGraphGetNodes(graph, handles.data(), &count))) return {};
    CopyGraph nodes;
    for (CUgraphNode handle : handles) {
        CopyNode node{handle};
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        if (!succeeded(cuGraphNodeGetType(handle, &type))) continue;
        if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
            CUDA_MEMCPY3D params{};
            if (!succeeded(cuGraphMemcpyNodeGetParams(handle, &params))) continue;
            node.copy = copy_of_node(params);
            node.copy->stack = stacks_->of(handle);
        } else if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
            CUgraph child = nullptr;
            if (!succeeded(cuGraphChildGraphNodeGetGraph(handle, &child))) continue;
            node.nodes = read(child);
            if (node.nodes.empty()) continue;
        } else {
            continue;
        }
        nodes.push_back(std::move(node));
    }
    return nodes;
}

void GraphCopies::instantiated(CUgraphExec executable, CUgraph graph, unsigned long long flags) {
    CopyGraph nodes = read(graph);
    if (!nodes.empty() && flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) not_followed_("graphs with copies that kernels launch");
    graphs_.instantiated(executable, std::move(nodes));
}

void GraphCopies::set_node(CUgraphExec executable, CUgraphNode node, const CUgraphNodeParams& params) {
    if (params.type == CU_GRAPH_NODE_TYPE_MEMCPY) graphs_.updated(executable, node, copy_of_node(params.memcpy.copyParams));
    if (params.type == CU_GRAPH_NODE_TYPE_GRAPH) graphs_.updated(executable, node, read(params.graph.graph));
}

void GraphCopies::at_event(bool is_exit, nvbit_api_cuda_t cbid, const void* params, bool done) {
    if (cbid == API_CUDA_cuGraphExecDestroy) {
        // At its entry: after it, the handle may already be another thread's new graph.
        if (!is_exit) graphs_.destroyed(static_cast<const cuGraphExecDestroy_params*>(params)->hGraphExec);
        return;
    }
    if (!done) return;
#define ON(call, ...)                                               \
    case API_CUDA_##call: {                                         \
        const auto& p = *static_cast<const call##_params*>(params); \
        __VA_ARGS__;                                                \
        return;                                                     \
    }
    switch (cbid) {
        ON(cuGraphInstantiate, instantiated(*p.phGraphExec, p.hGraph, 0))
        ON(cuGraphInstantiate_v2, instantiated(*p.phGraphExec, p.hGraph, 0))
        ON(cuGraphInstantiateWithFlags, instantiated(*p.phGraphExec, p.hGraph, p.flags))
        ON(cuGraphInstantiateWithParams, instantiated(*p.phGraphExec, p.hGraph, p.instantiateParams->flags))
        ON(cuGraphInstantiateWithParams_ptsz, instantiated(*p.phGraphExec, p.hGraph, p.instantiateParams->flags))
        ON(cuGraphExecUpdate, graphs_.updated(p.hGraphExec, read(p.hGraph)))
        ON(cuGraphExecUpdate_v2, graphs_.updated(p.hGraphExec, read(p.hGraph)))
        ON(cuGraphExecMemcpyNodeSetParams, graphs_.updated(p.hGraphExec, p.hNode, copy_of_node(*p.copyParams)))
        ON(cuGraphExecChildGraphNodeSetParams, graphs_.updated(p.hGraphExec, p.hNode, read(p.childGraph)))
        ON(cuGraphExecNodeSetParams, set_node(p.hGraphExec, p.hNode, *p.nodeParams))
        ON(cuGraphNodeSetEnabled, graphs_.enabled(p.hGraphExec, p.hNode, p.isEnabled != 0))
        default:
            return;
    }
#undef ON
}

std::vector<CopyCall> GraphCopies::launched(nvbit_api_cuda_t cbid, const void* params) const {
    const auto in_stream = [this](CUgraphExec graph, CUstream stream) {
        std::vector<CopyCall> copies = graphs_.copies(graph);
        for (CopyCall& copy : copies) copy.stream = stream;
        return copies;
    };
    if (cbid == API_CUDA_cuGraphLaunch) {
        const auto& p = *static_cast<const cuGraphLaunch_params*>(params);
        return in_stream(p.hGraph, stream_of(p.hStream, false));
    }
    if (cbid == API_CUDA_cuGraphLaunch_ptsz) {
        const auto& p = *static_cast<const cuGraphLaunch_ptsz_params*>(params);
        return in_stream(p.hGraphExec, stream_of(p.hStream, true));
    }
    return {};
}

}  // namespace snoopie
