// ahead LAUNCHES [graph]: a kernel of kParts times kSteps loads, of which a launch executes one part's, each at an address that the one
// before it told: it takes far longer than it takes to launch it, and has counters for all. The program launches it LAUNCHES times without
// waiting, or a CUDA graph of so many of it once. It runs on GPU 0; the words that it reads are far (far_place).
//
// Remote traffic of one launch:
//   kernel  operation  accesses  lanes        bytes/lane  sectors
//   follow  load       kSteps    32 * kSteps  4           4 * kSteps
#include <cstdint>
#include <cstring>
#include <utility>

#include "arrays.cuh"

constexpr int kParts = 32;
constexpr int kSteps = 128;
constexpr int kWarp = 32;

// All words are 0.
template <int kPart>
__device__ uint32_t walk(const volatile uint32_t* words, uint32_t next) {
#pragma unroll
    for (int step = kPart * kSteps; step < (kPart + 1) * kSteps; ++step) {
        next = threadIdx.x + words[step * kWarp + next];  // remote: follow
    }
    return next;
}

template <int... kPart>
__device__ uint32_t walk_chosen(const volatile uint32_t* words, int chosen, std::integer_sequence<int, kPart...>) {
    uint32_t next = threadIdx.x;
    ((kPart == chosen ? static_cast<void>(next = walk<kPart>(words, next)) : static_cast<void>(0)), ...);
    return next;
}

__global__ void follow(const volatile uint32_t* words, uint32_t* ends, int chosen) {
    atomicAdd(&ends[threadIdx.x], walk_chosen(words, chosen, std::make_integer_sequence<int, kParts>()));
}

int main(int argc, char** argv) {
    const char* usage = "ahead LAUNCHES [graph]    (LAUNCHES from 1 to 2^20)";
    const bool graph = argc == 3 && std::strcmp(argv[2], "graph") == 0;
    const long launches = argument(argc == 2 || graph ? argv[1] : nullptr, 1, 1 << 20, usage);
    const int far = far_place("ahead");
    const Array words(far, kParts * kSteps * kWarp * sizeof(uint32_t)), ends(0, kWarp * sizeof(uint32_t));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    if (graph) CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (long launch = 0; launch < launches; ++launch) {
        follow<<<1, kWarp, 0, stream>>>(words, ends, static_cast<int>(launch % kParts));
        CHECK(cudaGetLastError());
    }
    if (graph) {
        cudaGraph_t captured;
        cudaGraphExec_t executable;
        CHECK(cudaStreamEndCapture(stream, &captured));
        CHECK(cudaGraphInstantiateWithFlags(&executable, captured, 0));
        CHECK(cudaGraphLaunch(executable, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    const std::vector<uint32_t> sums = ends.read<uint32_t>();
    bool right = true;
    for (uint32_t lane = 0; lane < kWarp; ++lane) right = right && sums[lane] == static_cast<uint32_t>(launches) * lane;
    std::printf("ahead: %ld launches\n", launches);
    return verdict(right);
}
