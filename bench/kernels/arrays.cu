// arrays WHAT …: moves 2^24 words.
//   WHAT    global accesses of a warp, each in one basic block            a lane
//   fill    a store to the GPU's own memory                               4 bytes
//   copy    a load and a store, both of its own memory                    4 bytes
//   store   a store to the peer's memory                                  4 bytes
//   put     a load of its own, a store to the peer's memory               4 bytes
//   get     a load of the peer's, a store to its own memory               16 bytes
#include <string_view>

#include "bench.cuh"

constexpr uint32_t kWords = 1 << 24;
constexpr int kBlock = 256;

__global__ void fill(uint32_t* there, uint32_t n, uint32_t first) {
    const uint32_t i = blockIdx.x * kBlock + threadIdx.x;
    if (i < n) there[i] = first + i;
}

template <typename T>
__global__ void move(const T* from, T* to, uint32_t n) {
    const uint32_t i = blockIdx.x * kBlock + threadIdx.x;
    if (i < n) to[i] = from[i];
}

uint32_t* words_on(int gpu) {
    uint32_t* words = nullptr;
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMalloc(&words, kWords * sizeof(uint32_t)));
    CHECK(cudaMemset(words, 0, kWords * sizeof(uint32_t)));
    CHECK(cudaDeviceSynchronize());
    return words;
}

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    const bool fills = what == "fill" || what == "store", loads_there = what == "get", stores_there = what == "put" || what == "store";
    if (!fills && !loads_there && !stores_there && what != "copy") {
        std::fputs("usage: arrays fill|copy|store|put|get REPETITIONS LAUNCHES [--mapping]\n", stderr);
        return 2;
    }
    Arguments arguments = read_arguments(argc - 1, argv + 1);
    arguments.mapping = arguments.mapping || loads_there || stores_there;
    prepare_gpu("arrays", arguments);

    constexpr uint32_t kFirst = 0x5A5A5A5A;
    std::vector<uint32_t> expected(kWords), result(kWords);
    for (uint32_t i = 0; i < kWords; ++i) expected[i] = fills ? kFirst + i : scrambled(i);
    uint32_t* from = fills ? nullptr : words_on(loads_there);
    uint32_t* to = words_on(stores_there);
    if (from) CHECK(cudaMemcpy(from, expected.data(), kWords * sizeof(uint32_t), cudaMemcpyDefault));
    CHECK(cudaSetDevice(0));

    Measurement measurement(arguments);
    measurement.by_events([&] {
        constexpr uint32_t kQuads = kWords / 4;
        if (fills)
            fill<<<kWords / kBlock, kBlock>>>(to, kWords, kFirst);
        else if (loads_there)
            move<<<kQuads / kBlock, kBlock>>>(reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(to), kQuads);
        else
            move<<<kWords / kBlock, kBlock>>>(from, to, kWords);
        CHECK(cudaGetLastError());
    });

    CHECK(cudaMemcpy(result.data(), to, kWords * sizeof(uint32_t), cudaMemcpyDefault));
    return measurement.report(result == expected);
}
