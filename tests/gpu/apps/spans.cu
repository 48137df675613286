// spans MS: kernels on GPU 0 of known duration. Each stores to far memory (far_place), goes on for so many milliseconds by the GPU's own
// clock, and stores again. One warp each, in non-blocking streams A and B, with the host waiting for the GPU where a line is drawn:
//   launch  kernel   stream  ms
//   1       behind   A       0
//   2       beside   A       0
//   -------------------------------
//   3 to 5  behind   A       MS each
//   -------------------------------
//   6       beside   A       MS
//   7       beside   B       MS
//   -------------------------------
//   8       behind   A       MS, by a graph
//
// Remote traffic of each launch:
//   line          operation  accesses  lanes  bytes/lane  sectors
//   begun, ended  store      1         32     4           4
#include <cstdint>

#include "arrays.cuh"

__device__ uint64_t device_time() {
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

__device__ void go_on(uint64_t ns) {
    const uint64_t begin = device_time();
    while (device_time() - begin < ns) continue;
}

__global__ void behind(uint32_t* there, uint64_t ns) {
    there[threadIdx.x] = threadIdx.x + 1;  // remote: begun
    go_on(ns);
    there[32 + threadIdx.x] = threadIdx.x + 2;  // remote: ended
}

__global__ void beside(uint32_t* there, uint64_t ns) {
    there[threadIdx.x] = threadIdx.x + 1;  // remote: begun beside
    go_on(ns);
    there[32 + threadIdx.x] = threadIdx.x + 2;  // remote: ended beside
}

int main(int argc, char** argv) {
    const auto ns = static_cast<uint64_t>(argument(argc == 2 ? argv[1] : nullptr, 0, 1000, "spans MS    (0 to 1000)")) * 1000000;
    const int far = far_place("spans");
    const Array there(far), also_there(far);
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));

    behind<<<1, 32, 0, a>>>(there, 0);
    CHECK(cudaGetLastError());
    beside<<<1, 32, 0, a>>>(there, 0);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    for (int i = 0; i < 3; ++i) behind<<<1, 32, 0, a>>>(there, ns);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    beside<<<1, 32, 0, a>>>(there, ns);
    beside<<<1, 32, 0, b>>>(also_there, ns);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    behind<<<1, 32, 0, a>>>(there, ns);
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));

    bool right = true;
    for (const Array* array : {&there, &also_there}) {
        const auto words = array->read<uint32_t>();
        for (uint32_t i = 0; i < 32; ++i) right = right && words[i] == i + 1 && words[32 + i] == i + 2;
    }
    return verdict(right);
}
