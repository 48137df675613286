// graph N LAUNCHES: a CUDA graph of two kernels on GPU 0 that write to far memory (far_place), captured once and launched LAUNCHES times,
// without waiting.
//
// Remote traffic of one launch of the graph:
//   kernel  operation  accesses      lanes  bytes/lane  sectors
//   put     store      ceil(N / 32)  N      4           ceil(N / 8)
//   bump    reduction  ceil(N / 32)  N      4           ceil(N / 8)
#include <cstdint>
#include <vector>

#include "arrays.cuh"

__global__ void put(uint32_t* words, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = i;  // remote: put
}

__global__ void bump(uint32_t* words, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&words[i], 1u);  // remote: bump
}

int main(int argc, char** argv) {
    const char* usage = "graph N LAUNCHES    (N from 1 to 2^30, LAUNCHES from 1 to 2^20)";
    const uint32_t n = argument(argc == 3 ? argv[1] : nullptr, 1, 1 << 30, usage);
    const uint32_t launches = argument(argc == 3 ? argv[2] : nullptr, 1, 1 << 20, usage);
    const int far = far_place("graph");
    const Array written(far, n * sizeof(uint32_t)), counted(far, n * sizeof(uint32_t));
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    put<<<(n + 255) / 256, 256, 0, stream>>>(written, n);
    CHECK(cudaGetLastError());
    bump<<<(n + 255) / 256, 256, 0, stream>>>(counted, n);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (uint32_t k = 0; k < launches; ++k) CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));

    const std::vector<uint32_t> words = written.read<uint32_t>(), counts = counted.read<uint32_t>();
    bool right = true;
    for (uint32_t i = 0; i < n; ++i) right = right && words[i] == i && counts[i] == launches;
    std::printf("graph: %u words, %u launches\n", n, launches);
    return verdict(right);
}
