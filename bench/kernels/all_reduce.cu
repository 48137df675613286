// all_reduce [graph]: NCCL sums 4 MiB of floats over all GPUs, in one process. With `graph` each launch replays a graph of it on every GPU.
// Measured on GPU 0, whose kernel waits for the others'.
#include <nccl.h>

#include <cstdlib>
#include <string_view>

#include "bench.cuh"

#define NCCL_CHECK(call) check_nccl((call), #call)

void check_nccl(ncclResult_t status, const char* call) {
    if (status == ncclSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, ncclGetErrorString(status));
    std::exit(1);
}

constexpr uint32_t kFloats = 1 << 20;

// What `queue` puts into the streams, as one graph a stream, each on its own GPU.
template <class Queue>
std::vector<cudaGraphExec_t> captured(const std::vector<cudaStream_t>& streams, Queue queue) {
    std::vector<cudaGraphExec_t> graphs;
    // NCCL allocates while it connects the GPUs, which another mode would refuse.
    for (cudaStream_t stream : streams) CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    queue();
    // NCCL joins the streams of a group: nothing can be instantiated while one of them is capturing.
    std::vector<cudaGraph_t> recorded;
    for (cudaStream_t stream : streams) CHECK(cudaStreamEndCapture(stream, &recorded.emplace_back()));
    for (cudaGraph_t graph : recorded) {
        CHECK(cudaGraphInstantiate(&graphs.emplace_back(), graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }
    return graphs;
}

int main(int argc, char** argv) {
    // NVLink multicast can put switches that others share out of service.
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    const bool replays = argc > 1 && std::string_view(argv[1]) == "graph";
    const Arguments arguments = read_arguments(argc - replays, argv + replays);
    const int gpus = open_gpus("all_reduce");
    std::vector<ncclComm_t> communicators(gpus);
    NCCL_CHECK(ncclCommInitAll(communicators.data(), gpus, nullptr));

    const size_t bytes = kFloats * sizeof(float);
    std::vector<float> values(kFloats);
    for (uint32_t i = 0; i < kFloats; ++i) values[i] = scrambled(i);
    std::vector<cudaStream_t> streams(gpus);
    std::vector<float*> sent(gpus), received(gpus);
    for (int g = 0; g < gpus; ++g) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaStreamCreate(&streams[g]));
        CHECK(cudaMalloc(&sent[g], bytes));
        CHECK(cudaMalloc(&received[g], bytes));
        CHECK(cudaMemset(received[g], 0xff, bytes));
        CHECK(cudaMemcpy(sent[g], values.data(), bytes, cudaMemcpyDefault));
        CHECK(cudaDeviceSynchronize());
    }
    const auto reduce = [&] {
        NCCL_CHECK(ncclGroupStart());
        for (int g = 0; g < gpus; ++g)
            NCCL_CHECK(ncclAllReduce(sent[g], received[g], kFloats, ncclFloat, ncclSum, communicators[g], streams[g]));
        NCCL_CHECK(ncclGroupEnd());
    };
    std::vector<cudaGraphExec_t> graphs;
    if (replays) graphs = captured(streams, reduce);
    CHECK(cudaSetDevice(0));

    Measurement measurement(arguments);
    measurement.by_events(
        [&] {
            if (!replays) return reduce();
            for (int g = 0; g < gpus; ++g) CHECK(cudaGraphLaunch(graphs[g], streams[g]));
        },
        streams[0]);

    bool right = true;
    for (int g = 0; g < gpus; ++g) {
        std::vector<float> result(kFloats);
        CHECK(cudaStreamSynchronize(streams[g]));
        CHECK(cudaMemcpy(result.data(), received[g], bytes, cudaMemcpyDefault));
        for (uint32_t i = 0; i < kFloats; ++i) right = right && result[i] == gpus * values[i];
    }
    for (cudaGraphExec_t graph : graphs) CHECK(cudaGraphExecDestroy(graph));
    for (ncclComm_t communicator : communicators) NCCL_CHECK(ncclCommDestroy(communicator));
    return measurement.report(right);
}
