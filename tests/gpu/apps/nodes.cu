// nodes LAUNCHES: kernels in a CUDA graph on GPU 0, whose nodes get other parameters, and one of them in a stream beside it.
//
// The graph is pass, pass, keep, each with 1024 threads that load and store 4 bytes. `keep` never leaves GPU 0. It is launched LAUNCHES
// times in each of these phases; what is far is in far memory (far_place):
//   phase  first pass    second pass  between launches, in a stream
//   near   near to near  near to near
//   far    near to near  near to far
//   back   near to near  near to near
//   beside near to near  near to near pass, far to near
// Remote traffic of a launch of a kernel:
//   kernel  operation  accesses  lanes  bytes/lane  sectors
//   pass    load       32        1024   4           128      from
//   pass    store      32        1024   4           128      to
#include <cstdint>
#include <vector>

#include "arrays.cuh"

constexpr int kThreads = 1024;

__device__ unsigned thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void pass(const uint32_t* from, uint32_t* to, uint32_t more) {
    const uint32_t value = from[thread()];  // remote: from
    to[thread()] = value + more;            // remote: to
}

__global__ void keep(uint32_t* words) { words[thread()] += 1; }

struct Pass {
    const uint32_t* from;
    uint32_t* to;
    uint32_t more;
    void* arguments[3] = {&from, &to, &more};

    Pass(const Array& source, const Array& destination, uint32_t added) : from(source), to(destination), more(added) {}
    Pass(const Pass&) = delete;

    cudaKernelNodeParams parameters() {
        cudaKernelNodeParams node{};
        node.func = reinterpret_cast<void*>(pass);
        node.gridDim = dim3(kThreads / 256);
        node.blockDim = dim3(256);
        node.kernelParams = arguments;
        return node;
    }
};

bool all_are(const Array& array, uint32_t value) {
    const auto words = array.read<uint32_t>();
    for (int i = 0; i < kThreads; ++i)
        if (words[i] != value) return false;
    return true;
}

int main(int argc, char** argv) {
    const int launches = static_cast<int>(argument(argc == 2 ? argv[1] : nullptr, 1, 1 << 16, "nodes LAUNCHES"));
    const int there = far_place("nodes");
    const Array source(0), first(0), second(0), kept(0), far_source(there), far_second(there);
    source.write(std::vector<uint32_t>(kThreads, 7));
    far_source.write(std::vector<uint32_t>(kThreads, 9));

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t a, b, c;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaGraphCreate(&graph, 0));
    Pass pass_a(source, first, 1), near(source, second, 2), far(source, far_second, 3);
    const cudaKernelNodeParams node_a = pass_a.parameters(), node_near = near.parameters(), node_far = far.parameters();
    uint32_t* words = kept;
    void* arguments[] = {&words};
    cudaKernelNodeParams node_c{};
    node_c.func = reinterpret_cast<void*>(keep);
    node_c.gridDim = dim3(kThreads / 256);
    node_c.blockDim = dim3(256);
    node_c.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&a, graph, nullptr, 0, &node_a));
    CHECK(cudaGraphAddKernelNode(&b, graph, &a, 1, &node_near));
    CHECK(cudaGraphAddKernelNode(&c, graph, &b, 1, &node_c));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));

    const auto launch = [&] { CHECK(cudaGraphLaunch(executable, stream)); };
    for (int i = 0; i < launches; ++i) launch();
    CHECK(cudaStreamSynchronize(stream));
    bool right = all_are(first, 8) && all_are(second, 9);

    CHECK(cudaGraphExecKernelNodeSetParams(executable, b, &node_far));
    for (int i = 0; i < launches; ++i) launch();
    CHECK(cudaStreamSynchronize(stream));
    right = right && all_are(far_second, 10);

    CHECK(cudaGraphExecKernelNodeSetParams(executable, b, &node_near));
    for (int i = 0; i < launches; ++i) launch();
    for (int i = 0; i < launches; ++i) {
        pass<<<kThreads / 256, 256, 0, stream>>>(far_source, second, 1);
        CHECK(cudaGetLastError());
        launch();
    }
    CHECK(cudaStreamSynchronize(stream));
    right = right && all_are(second, 9) && all_are(kept, 4 * launches);
    return verdict(right);
}
