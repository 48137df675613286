// ring: the kernels of the sample of that name, with 2^22 words. A launch is one iteration: put, get and bump on every GPU.
#define main sample_main
#include "../../sample_traces/ring.cu"
#undef main

#include "bench.cuh"

int main(int argc, char** argv) {
    const Arguments arguments = read_arguments(argc, argv);
    const int gpus = open_gpus("ring");
    constexpr uint32_t kWords = 1 << 22;

    std::vector<Gpu> ring(gpus);
    for (int g = 0; g < gpus; ++g) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaStreamCreate(&ring[g].stream));
        CHECK(cudaMalloc(&ring[g].inbox, kWords * sizeof(uint32_t)));
        CHECK(cudaMalloc(&ring[g].sums, kWords * sizeof(uint32_t)));
        CHECK(cudaMalloc(&ring[g].counter, sizeof(uint32_t)));
        CHECK(cudaMemset(ring[g].sums, 0, kWords * sizeof(uint32_t)));
        CHECK(cudaMemset(ring[g].counter, 0, sizeof(uint32_t)));
        CHECK(cudaDeviceSynchronize());
    }

    uint32_t iteration = 0;
    Measurement measurement(arguments);
    measurement.by_clock(
        [&] {
            for (int g = 0; g < gpus; ++g) {
                const Gpu& next = ring[(g + 1) % gpus];
                CHECK(cudaSetDevice(g));
                put<<<kWords / kBlock, kBlock, 0, ring[g].stream>>>(next.inbox, kWords, first_word(g, iteration));
                get<<<kWords / 4 / kBlock, kBlock, 0, ring[g].stream>>>(reinterpret_cast<const uint4*>(next.inbox), ring[g].sums,
                                                                        kWords / 4);
                bump<<<kBumpBlocks, kBumpThreads, 0, ring[g].stream>>>(next.counter, 0);
                CHECK(cudaGetLastError());
            }
            ++iteration;
        },
        [&] {
            for (const Gpu& gpu : ring) CHECK(cudaStreamSynchronize(gpu.stream));
        });

    bool right = true;
    for (int g = 0; g < gpus; ++g) {
        std::vector<uint32_t> sums(kWords);
        uint32_t counter = 0, sum_of_firsts = 0;
        CHECK(cudaMemcpy(sums.data(), ring[g].sums, kWords * sizeof(uint32_t), cudaMemcpyDefault));
        CHECK(cudaMemcpy(&counter, ring[g].counter, sizeof counter, cudaMemcpyDefault));
        for (uint32_t k = 0; k < iteration; ++k) sum_of_firsts += first_word(g, k);
        for (uint32_t i = 0; i < kWords; ++i) right = right && sums[i] == sum_of_firsts + iteration * i;
        right = right && counter == iteration * kBumpBlocks * kBumpThreads;
    }
    return measurement.report(right);
}
