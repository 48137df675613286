// bandwidth MIB ITERS: GPU 0 stores to far memory (far_place; put), loads from it (get), and the host copies there (copy), ITERS times
// each, after one that does not count. Prints what events around each ITERS say: "put 371.25 GB/s".
//
// Traffic of one launch of put and get: MIB × 2^20 bytes, 16 a lane, all sectors full.
#include <cstdint>

#include "common.cuh"

constexpr unsigned kBlock = 512;
constexpr unsigned kBlocks = 1056;

__global__ void put(uint4* to, size_t n) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
        to[i] = make_uint4(1, 2, 3, 4);
}

__global__ void get(const uint4* from, uint4* to, size_t n) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) to[i] = from[i];
}

// The seconds of one of `iterations` calls of what is given to a stream.
template <class Work>
double seconds(cudaStream_t stream, long iterations, Work work) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    work();
    CHECK(cudaEventRecord(begin, stream));
    for (long i = 0; i < iterations; ++i) work();
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGetLastError());
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds / 1e3 / iterations;
}

int main(int argc, char** argv) {
    const char* usage = "bandwidth MIB ITERS    (MIB from 1 to 4096, ITERS from 1 to 1000)";
    const size_t bytes = size_t(argument(argc == 3 ? argv[1] : nullptr, 1, 4096, usage)) << 20;
    const long iterations = argument(argc == 3 ? argv[2] : nullptr, 1, 1000, usage);
    auto* const far = static_cast<uint4*>(memory_at(far_place("bandwidth"), bytes));
    auto* const near = static_cast<uint4*>(memory_at(0, bytes));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    const size_t n = bytes / sizeof(uint4);
    const auto say = [&](const char* name, double time) { std::printf("%s %.3f GB/s\n", name, bytes / time / 1e9); };
    say("put", seconds(stream, iterations, [&] { put<<<kBlocks, kBlock, 0, stream>>>(far, n); }));
    say("get", seconds(stream, iterations, [&] { get<<<kBlocks, kBlock, 0, stream>>>(far, near, n); }));
    say("copy", seconds(stream, iterations, [&] { CHECK(cudaMemcpyAsync(far, near, bytes, cudaMemcpyDefault, stream)); }));
    return verdict(true);
}
