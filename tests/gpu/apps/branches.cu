// branches BRANCHES KERNELS LAUNCHES HOW [SLOW]: branches side by side in a CUDA graph that was captured on GPU 0, each a chain of kernels.
// The first kernel of branch SLOW waits for a millisecond before it stores.
//
// HOW the graph is launched, and where:
//   wait     the host waits after each launch
//   queue    each behind the one before, in a non-blocking stream
//   thread   the same in the thread's default stream
//   streams  the same in two non-blocking streams, by turns
//   set      as queue, and before each other launch kernel i is given the parameters of kernel n - 1 - i, and then its own again
//   update   as queue, and before each launch the graph is updated as a whole, from one that differs like that: and there `put` is `twin`
//   twice    as queue, twice as a child of the graph that is launched: each launch has two of every kernel
//   gpus     as queue, and each other branch runs on GPU 1 and stores to GPU 0
// Kernel m of branch k is number i = k * KERNELS + m. Remote traffic of a launch of it:
//   operation  accesses  lanes         bytes/lane  sectors
//   store      1 + i     32 * (1 + i)  4           4 * (1 + i)
#include <cstdint>
#include <string>
#include <vector>

#include "arrays.cuh"

constexpr int kMost = 32;

__global__ void put(uint32_t* there, uint32_t words, long long wait) {
    const long long start = clock64();
    while (clock64() - start < wait) {
    }
    if (threadIdx.x < words) there[threadIdx.x] = words + 1;  // remote: put
}

__global__ void twin(uint32_t* there, uint32_t words, long long wait) {
    const long long start = clock64();
    while (clock64() - start < wait) {
    }
    if (threadIdx.x < words) there[threadIdx.x] = words + 1;  // remote: twin
}

// `backwards`: the arrays.
cudaGraph_t captured(decltype(put)* kernel, int branches, int kernels, int slow, const std::vector<int>& runs_on,
                     const std::vector<Array>& arrays, bool backwards = false) {
    std::vector<cudaStream_t> streams(branches);
    std::vector<cudaEvent_t> ends(branches);
    cudaEvent_t fork;
    cudaGraph_t graph;
    CHECK(cudaEventCreate(&fork));
    for (int k = 0; k < branches; ++k) {
        CHECK(cudaSetDevice(runs_on[k]));
        CHECK(cudaStreamCreate(&streams[k]));
        CHECK(cudaEventCreate(&ends[k]));
    }
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, streams[0]));
    for (int k = 0; k < branches; ++k) {
        CHECK(cudaSetDevice(runs_on[k]));
        if (k > 0) CHECK(cudaStreamWaitEvent(streams[k], fork));
        for (int m = 0; m < kernels; ++m) {
            const int place = k * kernels + m, i = backwards ? branches * kernels - 1 - place : place;
            kernel<<<1, 1024, 0, streams[k]>>>(arrays[i], 32 * (1 + i), k == slow && m == 0 ? 2'000'000 : 0);
            CHECK(cudaGetLastError());
        }
        if (k == 0) continue;
        CHECK(cudaEventRecord(ends[k], streams[k]));
        CHECK(cudaStreamWaitEvent(streams[0], ends[k]));
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamEndCapture(streams[0], &graph));
    return graph;
}

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
    return nodes;
}

// The executable graph's kernels have the parameters of those of another graph that is built like its own.
void set(cudaGraphExec_t executable, cudaGraph_t own, cudaGraph_t other) {
    const auto nodes = nodes_of(own), others = nodes_of(other);
    for (size_t i = 0; i < nodes.size(); ++i) {
        cudaGraphNodeType type;
        CHECK(cudaGraphNodeGetType(nodes[i], &type));
        if (type != cudaGraphNodeTypeKernel) continue;
        cudaKernelNodeParams parameters{};
        CHECK(cudaGraphKernelNodeGetParams(others[i], &parameters));
        CHECK(cudaGraphExecKernelNodeSetParams(executable, nodes[i], &parameters));
    }
}

int main(int argc, char** argv) {
    const char* const usage = "branches BRANCHES KERNELS LAUNCHES wait|queue|thread|streams|set|update|twice|gpus [SLOW]";
    const auto number = [&](int place, long least, long most) {
        return static_cast<int>(argument(argc > place ? argv[place] : nullptr, least, most, usage));
    };
    const int branches = number(1, 1, kMost), kernels = number(2, 1, kMost / branches), launches = number(3, 1, 1000);
    const std::string how = argc > 4 ? argv[4] : "";
    const int slow = argc > 5 ? number(5, 0, branches - 1) : -1;
    if (how == "gpus" && open_gpus("branches", 2) < 2) return kCannotRun;
    const int there = how == "gpus" ? 1 : far_place("branches");

    std::vector<int> runs_on(branches, 0);
    std::vector<Array> arrays;
    for (int k = 0; k < branches; ++k) {
        runs_on[k] = how == "gpus" ? k % 2 : 0;
        for (int m = 0; m < kernels; ++m) arrays.emplace_back(runs_on[k] == 1 ? 0 : there);
    }
    cudaGraph_t graph = captured(put, branches, kernels, slow, runs_on, arrays);
    if (how == "twice") {
        const cudaGraph_t child = graph;
        cudaGraphNode_t first, second;
        CHECK(cudaGraphCreate(&graph, 0));
        CHECK(cudaGraphAddChildGraphNode(&first, graph, nullptr, 0, child));
        CHECK(cudaGraphAddChildGraphNode(&second, graph, &first, 1, child));
    }
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    const cudaGraph_t other = captured(how == "update" ? twin : put, branches, kernels, slow, runs_on, arrays, true);

    cudaStream_t streams[2];
    for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (how == "thread") streams[0] = cudaStreamPerThread;
    for (int i = 0; i < launches; ++i) {
        const cudaGraph_t next = i % 2 ? other : graph;
        cudaGraphExecUpdateResultInfo result{};
        if (how == "set") set(executable, graph, next);
        if (how == "update") CHECK(cudaGraphExecUpdate(executable, next, &result));
        CHECK(cudaGraphLaunch(executable, streams[how == "streams" ? i % 2 : 0]));
        if (how == "wait") CHECK(cudaStreamSynchronize(streams[0]));
    }
    CHECK(cudaStreamSynchronize(streams[0]));
    CHECK(cudaStreamSynchronize(streams[1]));

    bool right = true;
    for (size_t i = 0; i < arrays.size(); ++i) {
        const auto words = static_cast<uint32_t>(32 * (1 + i));
        const auto found = arrays[i].read<uint32_t>();
        for (uint32_t j = 0; j < 1024; ++j) right = right && found[j] == (j < words ? words + 1 : 0);
    }
    return verdict(right);
}
