// graphs: CUDA graphs of kernels on GPU 0. Every launch of a graph is a launch of each of its kernel nodes.
//
// Remote traffic of one launch of a node:
//   kernel  operation  accesses      lanes  bytes/lane  sectors
//   put     store      ceil(N / 32)  N      4           ceil(N / 8)
//   bump    reduction  2             64     4           8
//   twice   store        ceil(N / 32)  N      4           ceil(N / 8)   by each of two lines
// A chain is put A, put B, a memset of GPU 0's memory, bump on GPU 1. It is launched with these N and owners, G being the last GPU:
//                                              A         B
//   as built                                   64, 1     128, 1
//   parameters of A set anew                   64, 0     128, 1     so A has no remote traffic
//   those of B too, by another call            64, 0     32, G
//   the whole updated from another             96, 1     40, 1
//   five times more                            96, 1     40, 1
//   A is twice instead of put                  80, 1     40, 1
//   the whole updated, B is twice instead      96, 1     72, 1      and A is put again
// Then a chain as built is launched as the only node of another graph, and again after it was updated from one with 96 and 40. And at last
// one that was captured: put (64, 1) in a stream, put (32, 1) in another that forks from it and joins it, then bump; the two puts in any
// order.
#include <cstdint>
#include <vector>

#include "arrays.cuh"

constexpr uint32_t kBumps = 64;

__global__ void put(uint32_t* there, uint32_t n, uint32_t value) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) there[i] = value + i;  // remote: put
}

__global__ void twice(uint32_t* there, uint32_t n, uint32_t value) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    there[i] = value + i;         // remote: once
    there[i + 1024] = value + i;  // remote: again
}

__global__ void bump(uint32_t* there) {
    atomicAdd(&there[threadIdx.x], 1u);  // remote: bump
}

// The arguments of a put, kept where the graph calls look for them.
struct Put {
    uint32_t* there;
    uint32_t n;
    uint32_t value;
    void* arguments[3] = {&there, &n, &value};
    void* function = reinterpret_cast<void*>(put);

    Put(const Array& array, uint32_t words, uint32_t first) : there(array), n(words), value(first) {}
    Put(const Put&) = delete;

    cudaKernelNodeParams parameters() {
        cudaKernelNodeParams node{};
        node.func = function;
        node.gridDim = dim3((n + 63) / 64);
        node.blockDim = dim3(64);
        node.kernelParams = arguments;
        return node;
    }
    cudaGraphNodeParams any_parameters() {
        cudaGraphNodeParams node{};
        node.type = cudaGraphNodeTypeKernel;
        node.kernel.func = function;
        node.kernel.gridDim = dim3((n + 63) / 64);
        node.kernel.blockDim = dim3(64);
        node.kernel.kernelParams = arguments;
        return node;
    }
};

struct Chain {
    cudaGraph_t graph;
    cudaGraphNode_t a, b, zero, bump;

    Chain(Put& put_a, Put& put_b, const Array& zeroed, const Array& counted) {
        CHECK(cudaGraphCreate(&graph, 0));
        const cudaKernelNodeParams first = put_a.parameters();
        CHECK(cudaGraphAddKernelNode(&a, graph, nullptr, 0, &first));
        cudaGraphNodeParams second = put_b.any_parameters();
        CHECK(cudaGraphAddNode(&b, graph, &a, nullptr, 1, &second));

        cudaMemsetParams memory{};
        memory.dst = zeroed;
        memory.elementSize = 4;
        memory.width = kBumps;
        memory.height = 1;
        CHECK(cudaGraphAddMemsetNode(&zero, graph, &b, 1, &memory));

        uint32_t* counters = counted;
        void* arguments[] = {&counters};
        cudaKernelNodeParams last{};
        last.func = reinterpret_cast<void*>(::bump);
        last.gridDim = dim3(1);
        last.blockDim = dim3(kBumps);
        last.kernelParams = arguments;
        CHECK(cudaGraphAddKernelNode(&bump, graph, &zero, 1, &last));
    }
};

bool all_right = true;

// Whether the array begins with what a put with these arguments left, and how often its words were counted up.
bool holds(const Array& array, uint32_t n, uint32_t value) {
    const auto words = array.read<uint32_t>();
    bool right = true;
    for (uint32_t i = 0; i < n; ++i) right = right && words[i] == value + i;
    return right;
}
bool counts(const Array& array, uint32_t times) {
    const auto words = array.read<uint32_t>();
    bool right = true;
    for (uint32_t i = 0; i < kBumps; ++i) right = right && words[i] == times;
    return right;
}

void expect(const char* name, bool right) {
    std::printf("%s: %s\n", name, right ? "right" : "wrong");
    all_right = all_right && right;
}

// One launch has ended before the next begins.
void launch(cudaGraphExec_t executable, cudaStream_t stream) {
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
}

cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    return executable;
}

void launch_chains(cudaStream_t stream, int last_gpu) {
    const Array first(1), second(1), own(0), last(last_gpu), zeroed(0), counted(1);
    zeroed.write(std::vector<uint32_t>(kBumps, 7));
    Put a(first, 64, 1000), b(second, 128, 2000);
    const Chain chain(a, b, zeroed, counted);
    const cudaGraphExec_t executable = instantiate(chain.graph);
    launch(executable, stream);
    expect("as built", holds(first, 64, 1000) && holds(second, 128, 2000) && counts(zeroed, 0) && counts(counted, 1));

    Put own_a(own, 64, 3000);
    const cudaKernelNodeParams parameters = own_a.parameters();
    CHECK(cudaGraphExecKernelNodeSetParams(executable, chain.a, &parameters));
    launch(executable, stream);
    expect("parameters of a kernel node", holds(own, 64, 3000) && holds(first, 64, 1000) && counts(counted, 2));

    Put last_b(last, 32, 4000);
    cudaGraphNodeParams any_parameters = last_b.any_parameters();
    CHECK(cudaGraphExecNodeSetParams(executable, chain.b, &any_parameters));
    launch(executable, stream);
    expect("parameters of a node", holds(last, 32, 4000) && holds(second, 128, 2000) && counts(counted, 3));

    Put new_a(first, 96, 5000), new_b(second, 40, 6000);
    const Chain other(new_a, new_b, zeroed, counted);
    cudaGraphExecUpdateResultInfo result{};
    CHECK(cudaGraphExecUpdate(executable, other.graph, &result));
    launch(executable, stream);
    expect("an updated graph", holds(first, 96, 5000) && holds(second, 40, 6000) && counts(counted, 4));
    for (int k = 0; k < 5; ++k) launch(executable, stream);
    expect("five times more", counts(counted, 9));

    Put twice_a(first, 80, 7000);
    twice_a.function = reinterpret_cast<void*>(twice);
    const cudaKernelNodeParams of_twice = twice_a.parameters();
    CHECK(cudaGraphExecKernelNodeSetParams(executable, chain.a, &of_twice));
    launch(executable, stream);
    expect("another kernel", holds(first, 80, 7000) && holds(second, 40, 6000) && counts(counted, 10));

    Put twice_b(second, 72, 8000);
    twice_b.function = reinterpret_cast<void*>(twice);
    const Chain third(new_a, twice_b, zeroed, counted);
    CHECK(cudaGraphExecUpdate(executable, third.graph, &result));
    launch(executable, stream);
    expect("another kernel by an update", holds(first, 96, 5000) && holds(second, 72, 8000) && counts(counted, 11));

    cudaGraph_t outer;
    cudaGraphNode_t inner;
    CHECK(cudaGraphCreate(&outer, 0));
    CHECK(cudaGraphAddChildGraphNode(&inner, outer, nullptr, 0, chain.graph));
    const cudaGraphExec_t outer_executable = instantiate(outer);
    launch(outer_executable, stream);
    expect("a graph in a graph", holds(first, 64, 1000) && holds(second, 128, 2000) && counts(counted, 12));
    CHECK(cudaGraphExecChildGraphNodeSetParams(outer_executable, inner, other.graph));
    launch(outer_executable, stream);
    expect("an updated graph in a graph", holds(first, 96, 5000) && holds(second, 40, 6000) && counts(counted, 13));
}

void launch_captured(cudaStream_t stream) {
    const Array first(1), second(1), counted(1);
    cudaStream_t side;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    CHECK(cudaStreamCreate(&side));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(side, fork));
    put<<<1, 64, 0, stream>>>(first, 64, 1000);
    CHECK(cudaGetLastError());
    put<<<1, 64, 0, side>>>(second, 32, 2000);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(join, side));
    CHECK(cudaStreamWaitEvent(stream, join));
    bump<<<1, kBumps, 0, stream>>>(counted);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(stream, &graph));
    launch(instantiate(graph), stream);
    expect("captured", holds(first, 64, 1000) && holds(second, 32, 2000) && counts(counted, 1));
}

int main() {
    const int gpus = open_gpus("graphs");
    CHECK(cudaSetDevice(0));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    launch_chains(stream, gpus - 1);
    launch_captured(stream);
    return verdict(all_right);
}
