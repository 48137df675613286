// phases N: puts from GPU 0 to far memory (far_place) in ranges of NVTX, in regions of snoopie.h, with recording switched off and on. A put
// of k stores N × k words, and each k is another power of two, so that a sum of bytes says which puts it is of.
//
//   put of          in the ranges
//   1, 4            step
//   2               step, and halo of the domain app
//   8               whole, which another thread ends
//   16              whole, and other on the other thread
//   32              (between cudaProfilerStart and cudaProfilerStop)
//   64              region
//   128             (between snoopie_record(0) and snoopie_record(1))
//   a copy of N × 4 bytes   region
//   256, 512        replay, twice each: of a graph that is captured within the range capture
//   1024            (none)
//
// All puts store 4 bytes a lane, ceil(N × k / 32) accesses and N × k lanes.
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "common.cuh"
#include "snoopie.h"

__global__ void put(uint32_t* there, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) there[i] = i;  // remote: put
}

uint32_t* there = nullptr;
uint32_t n = 0;

void launch(uint32_t k, cudaStream_t stream = nullptr) {
    put<<<(n * k + 255) / 256, 256, 0, stream>>>(there, n * k);
    CHECK(cudaGetLastError());
}

__attribute__((noinline)) void capture_one(cudaStream_t stream) {
    put<<<(n * 256 + 255) / 256, 256, 0, stream>>>(there, n * 256);  // stack: one
    CHECK(cudaGetLastError());
}

__attribute__((noinline)) void capture_other(cudaStream_t stream) {
    put<<<(n * 512 + 255) / 256, 256, 0, stream>>>(there, n * 512);  // stack: other
    CHECK(cudaGetLastError());
}

__attribute__((noinline)) cudaGraphExec_t captured(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    capture_one(stream);
    capture_other(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return executable;
}

int main(int argc, char** argv) {
    n = argument(argc == 2 ? argv[1] : nullptr, 1, 1 << 16, "phases N    (N from 1 to 2^16)");
    there = static_cast<uint32_t*>(memory_at(far_place("phases"), n * 1024 * sizeof(uint32_t)));
    auto* const own = static_cast<uint32_t*>(memory_at(0, n * sizeof(uint32_t)));
    CHECK(cudaMemset(own, 0, n * sizeof(uint32_t)));

    const nvtxDomainHandle_t app = nvtxDomainCreateA("app");
    nvtxEventAttributes_t halo{};
    halo.version = NVTX_VERSION;
    halo.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    halo.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    halo.message.registered = nvtxDomainRegisterStringA(app, "halo");
    nvtxRangePushA("step");
    launch(1);
    nvtxDomainRangePushEx(app, &halo);
    launch(2);
    nvtxDomainRangePop(app);
    launch(4);
    nvtxRangePop();

    const nvtxRangeId_t whole = nvtxRangeStartA("whole");
    launch(8);
    std::thread([whole] {
        CHECK(cudaSetDevice(0));
        nvtxRangePushA("other");
        launch(16);
        nvtxRangePop();
        nvtxRangeEnd(whole);
    }).join();

    nvtxMarkA("profiled from here");
    CHECK(cudaProfilerStart());
    launch(32);
    CHECK(cudaProfilerStop());

    snoopie_begin("region");
    launch(64);
    CHECK(cudaMemcpy(there, own, n * sizeof(uint32_t), cudaMemcpyDefault));
    snoopie_end();
    snoopie_record(0);
    launch(128);
    snoopie_record(1);

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    nvtxRangePushA("capture");
    const cudaGraphExec_t graph = captured(stream);
    nvtxRangePop();
    nvtxRangePushA("replay");
    for (int k = 0; k < 2; ++k) {
        CHECK(cudaGraphLaunch(graph, stream));  // stack: replay
        CHECK(cudaStreamSynchronize(stream));
    }
    nvtxRangePop();
    launch(1024);
    CHECK(cudaDeviceSynchronize());

    std::vector<uint32_t> words(n * 1024);
    CHECK(cudaMemcpy(words.data(), there, words.size() * sizeof(uint32_t), cudaMemcpyDefault));
    bool right = true;
    for (uint32_t i = 0; i < words.size(); ++i) right = right && words[i] == i;
    std::printf("phases: %u words\n", n);
    return verdict(right);
}
