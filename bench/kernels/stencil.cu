// stencil [managed|graph]: the mean of four neighbours in a plane of 4096 x 4096 words. Four loads and a store in one basic block, all
// local; or all of managed memory, which the host writes first and the first launch takes to the GPU. With `graph` each launch replays a
// CUDA graph of it.
#include <string_view>

#include "bench.cuh"

constexpr int kSide = 4096;
constexpr int kBlock = 256;

__global__ void stencil(const float* in, float* out) {
    const int x = blockIdx.x * kBlock + threadIdx.x;
    const int y = blockIdx.y + 1;
    if (x < 1 || x > kSide - 2) return;
    const float* cell = in + y * kSide + x;
    out[y * kSide + x] = 0.25f * ((cell[-1] + cell[1]) + (cell[-kSide] + cell[kSide]));
}

// What `queue` puts into a stream, as a graph.
template <class Queue>
cudaGraphExec_t captured(Queue queue) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    queue(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return executable;
}

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    const bool managed = mode == "managed", replays = mode == "graph";
    const int modes = managed || replays;
    const Arguments arguments = read_arguments(argc - modes, argv + modes);
    prepare_gpu("stencil", arguments);

    std::vector<float> plane(kSide * kSide);
    for (uint32_t i = 0; i < plane.size(); ++i) plane[i] = scrambled(i);
    const size_t bytes = plane.size() * sizeof(float);
    float *in = nullptr, *out = nullptr;
    for (float** grid : {&in, &out}) CHECK(managed ? cudaMallocManaged(grid, bytes) : cudaMalloc(grid, bytes));
    if (managed)
        std::memcpy(in, plane.data(), bytes);
    else
        CHECK(cudaMemcpy(in, plane.data(), bytes, cudaMemcpyDefault));

    const auto launch = [&](cudaStream_t stream) {
        stencil<<<dim3(kSide / kBlock, kSide - 2), kBlock, 0, stream>>>(in, out);
        CHECK(cudaGetLastError());
    };
    const cudaGraphExec_t graph = replays ? captured(launch) : nullptr;
    Measurement measurement(arguments);
    measurement.by_events([&] {
        if (replays)
            CHECK(cudaGraphLaunch(graph, nullptr));
        else
            launch(nullptr);
    });

    std::vector<float> result(plane.size());
    CHECK(cudaMemcpy(result.data(), out, bytes, cudaMemcpyDefault));
    size_t wrong = 0;
    for (int y = 1; y < kSide - 1; ++y) {
        for (int x = 1; x < kSide - 1; ++x) {
            const int i = y * kSide + x;
            wrong += result[i] != 0.25f * (plane[i - 1] + plane[i + 1] + plane[i - kSide] + plane[i + kSide]);
        }
    }
    return measurement.report(wrong == 0);
}
