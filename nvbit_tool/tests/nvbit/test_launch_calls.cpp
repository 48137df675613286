// What driver calls launch and put into graphs, read from their parameters as NVBit hands them over. The driver is played by this file.
#include <array>
#include <vector>

#include "calls/graph_kernels.h"
#include "calls/launch_calls.h"
#include "check.h"

using namespace snoopie;

namespace {

template <class Handle>
Handle handle(uint64_t value) {
    return reinterpret_cast<Handle>(value);
}

using Shape = std::array<uint32_t, 3>;

const CUfunction kFunction = handle<CUfunction>(0x11);
const CUfunction kOther = handle<CUfunction>(0x12);
const CUstream kStream = handle<CUstream>(0x77);
const CUcontext kContext = handle<CUcontext>(0x20);
const CUcontext kOfNode = handle<CUcontext>(0x21);
const CUkernel kKernel = handle<CUkernel>(0x30);

void* argument = nullptr;
void* arguments[] = {&argument};
void* packed[] = {CU_LAUNCH_PARAM_END};

std::vector<CUcontext> pushed;  // contexts that are current, the thread's own left out

template <class Params>
LaunchCall only(nvbit_api_cuda_t cbid, const Params& params) {
    const auto call = launch_call(cbid, &params);
    CHECK(call.has_value());
    CHECK(launched_kernel(cbid, &params) == kFunction);
    return call.value_or(LaunchCall{});
}

void plain() {
    const cuLaunchKernel_params params{kFunction, 1, 2, 3, 4, 5, 6, 7, kStream, arguments, packed};
    LaunchCall call = only(API_CUDA_cuLaunchKernel, params);
    CHECK(call.function == kFunction && call.stream == kStream);
    CHECK(call.grid == (Shape{1, 2, 3}) && call.block == (Shape{4, 5, 6}));
    CHECK_EQ(call.shared_memory, 7u);
    CHECK(call.parameters == arguments && call.extra == packed);

    const cuLaunchKernel_params unnamed{kFunction, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr};
    CHECK(only(API_CUDA_cuLaunchKernel, unnamed).stream == CU_STREAM_LEGACY);
    CHECK(only(API_CUDA_cuLaunchKernel_ptsz, unnamed).stream == CU_STREAM_PER_THREAD);

    const cuLaunchCooperativeKernel_params cooperative{kFunction, 1, 2, 3, 4, 5, 6, 7, nullptr, arguments};
    call = only(API_CUDA_cuLaunchCooperativeKernel, cooperative);
    CHECK(call.stream == CU_STREAM_LEGACY && call.parameters == arguments && !call.extra);
    CHECK(call.grid == (Shape{1, 2, 3}) && call.block == (Shape{4, 5, 6}));
    CHECK(only(API_CUDA_cuLaunchCooperativeKernel_ptsz, cooperative).stream == CU_STREAM_PER_THREAD);
}

void extended() {
    CUlaunchConfig config{};
    config.gridDimX = 8;
    config.gridDimY = 9;
    config.gridDimZ = 10;
    config.blockDimX = 11;
    config.blockDimY = 12;
    config.blockDimZ = 13;
    config.sharedMemBytes = 14;
    cuLaunchKernelEx_params params{};
    params.config = &config;
    params.f = kFunction;
    params.kernelParams = arguments;
    params.extra = packed;
    const LaunchCall call = only(API_CUDA_cuLaunchKernelEx, params);
    CHECK(call.stream == CU_STREAM_LEGACY);
    CHECK(call.grid == (Shape{8, 9, 10}) && call.block == (Shape{11, 12, 13}));
    CHECK_EQ(call.shared_memory, 14u);
    CHECK(call.parameters == arguments && call.extra == packed);
    CHECK(only(API_CUDA_cuLaunchKernelEx_ptsz, params).stream == CU_STREAM_PER_THREAD);
    config.hStream = kStream;
    CHECK(only(API_CUDA_cuLaunchKernelEx_ptsz, params).stream == kStream);

    // The driver refuses it.
    params.config = nullptr;
    CHECK(!launch_call(API_CUDA_cuLaunchKernelEx, &params));
    CHECK(!launched_kernel(API_CUDA_cuLaunchKernelEx, &params));
}

void ancient() {
    const cuLaunchGridAsync_params params{kFunction, 5, 6, kStream};
    LaunchCall call = only(API_CUDA_cuLaunchGridAsync, params);
    CHECK(call.stream == kStream && call.grid == (Shape{5, 6, 1}) && call.block == (Shape{1, 1, 1}));

    block_shape_set({kFunction, 16, 8, 2});
    block_shape_set({kOther, 99, 1, 1});
    call = only(API_CUDA_cuLaunchGridAsync, params);
    CHECK(call.block == (Shape{16, 8, 2}));
    call = only(API_CUDA_cuLaunch, cuLaunch_params{kFunction});
    CHECK(call.stream == CU_STREAM_LEGACY && call.grid == (Shape{1, 1, 1}) && call.block == (Shape{16, 8, 2}));
    call = only(API_CUDA_cuLaunchGrid, cuLaunchGrid_params{kFunction, 3, 4});
    CHECK(call.grid == (Shape{3, 4, 1}) && call.stream == CU_STREAM_LEGACY);
}

void multi_device() {
    CUDA_LAUNCH_PARAMS list[2] = {};
    list[0].function = kFunction;
    list[0].hStream = kStream;
    list[0].gridDimX = 2;
    list[0].kernelParams = arguments;
    list[1].function = kOther;
    list[1].blockDimZ = 3;
    list[1].sharedMemBytes = 4;
    const std::vector<LaunchCall> calls = multi_device_launches({list, 2, 0});
    CHECK_EQ(calls.size(), 2u);
    CHECK(calls[0].function == kFunction && calls[0].stream == kStream && calls[0].grid[0] == 2 && calls[0].parameters == arguments);
    CHECK(calls[1].function == kOther && calls[1].block[2] == 3 && calls[1].shared_memory == 4);
    CHECK(multi_device_launches({nullptr, 2, 0}).empty());
}

void nothing() {
    const cuMemFree_v2_params params{0x1000};
    CHECK(!launch_call(API_CUDA_cuMemFree_v2, &params));
    CHECK(!graph_kernel(kContext, API_CUDA_cuMemFree_v2, &params));
    CHECK(!is_conditional_node(API_CUDA_cuMemFree_v2, &params));
}

void kernel_nodes() {
    CUDA_KERNEL_NODE_PARAMS_v1 first{};
    first.func = kFunction;
    first.gridDimY = 5;
    first.kernelParams = arguments;
    first.extra = packed;
    cuGraphAddKernelNode_params add{};
    add.nodeParams = &first;
    auto kernel = graph_kernel(kContext, API_CUDA_cuGraphAddKernelNode, &add);
    CHECK(kernel && kernel->context == kContext && kernel->new_node);
    CHECK(kernel->call.function == kFunction && kernel->call.grid[1] == 5 && !kernel->call.stream);
    CHECK(kernel->call.parameters == arguments && kernel->call.extra == packed);
    add.nodeParams = nullptr;
    CHECK(!graph_kernel(kContext, API_CUDA_cuGraphAddKernelNode, &add));

    // By a kernel of the node's own context.
    CUDA_KERNEL_NODE_PARAMS node{};
    node.kern = kKernel;
    node.ctx = kOfNode;
    cuGraphExecKernelNodeSetParams_v2_params set{};
    set.nodeParams = &node;
    kernel = graph_kernel(kContext, API_CUDA_cuGraphExecKernelNodeSetParams_v2, &set);
    CHECK(kernel && kernel->context == kOfNode && !kernel->new_node && kernel->call.function == kOther);
    CHECK(pushed.empty());
    node.ctx = nullptr;
    kernel = graph_kernel(kContext, API_CUDA_cuGraphExecKernelNodeSetParams_v2, &set);
    CHECK(kernel && kernel->context == kContext && kernel->call.function == kFunction);
    node.kern = nullptr;
    CHECK(!graph_kernel(kContext, API_CUDA_cuGraphExecKernelNodeSetParams_v2, &set));
}

void general_nodes() {
    CUgraphNodeParams node{};
    node.type = CU_GRAPH_NODE_TYPE_KERNEL;
    node.kernel.func = kFunction;
    node.kernel.gridDimX = 6;
    cuGraphAddNode_params add{};
    add.nodeParams = &node;
    auto kernel = graph_kernel(kContext, API_CUDA_cuGraphAddNode, &add);
    CHECK(kernel && kernel->new_node && kernel->call.function == kFunction && kernel->call.grid[0] == 6);
    CHECK(!is_conditional_node(API_CUDA_cuGraphAddNode, &add));

    cuGraphExecNodeSetParams_params set{};
    set.nodeParams = &node;
    kernel = graph_kernel(kContext, API_CUDA_cuGraphExecNodeSetParams, &set);
    CHECK(kernel && !kernel->new_node && kernel->call.function == kFunction);

    node = {};
    node.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    CHECK(!graph_kernel(kContext, API_CUDA_cuGraphAddNode, &add));
    CHECK(is_conditional_node(API_CUDA_cuGraphAddNode, &add));
    CHECK(is_conditional_node(API_CUDA_cuGraphExecNodeSetParams, &set));
}

}  // namespace

namespace snoopie {

std::atomic<uint64_t> driver_errors{0};
OwnCalls::OwnCalls() : outermost_(false) {}
OwnCalls::~OwnCalls() = default;
CurrentContext::CurrentContext(CUcontext context) : context_(context), pushed_(true) { pushed.push_back(context); }
CurrentContext::~CurrentContext() {
    CHECK(pushed_ && pushed.back() == context_);
    pushed.pop_back();
}

}  // namespace snoopie

// Which function a kernel is depends on the current context.
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    CHECK(OwnCalls::active() && kernel == kKernel && pushed.size() == 1);
    *function = pushed.back() == kOfNode ? kOther : kFunction;
    return CUDA_SUCCESS;
}

int main() {
    plain();
    extended();
    ancient();
    multi_device();
    nothing();
    kernel_nodes();
    general_nodes();
    return test::summary("launch_calls");
}
