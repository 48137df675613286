// ring N ITERS: every GPU writes to, reads from and counts up in the memory of the next GPU of a ring.
//
// Remote traffic of one iteration, issuer i, owner i + 1 (sectors are of 32 bytes; all arrays start at a sector):
//   kernel  operation  accesses          lanes    bytes/lane  sectors
//   put     store      ceil(N / 32)      N        4           ceil(N / 8)
//   get     load       ceil(N/4 / 32)    N/4      16          ceil(N/4 / 2)     N/4 rounded down
//   bump    reduction  8                 256      4           8                 64 lanes a block, 4 blocks, one word
#include <cstdint>
#include <vector>

#include "common.cuh"

constexpr unsigned kBlock = 256;
constexpr unsigned kBumpBlocks = 4;
constexpr unsigned kBumpThreads = 64;

__global__ void put(uint32_t* next, uint32_t n, uint32_t first) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) next[i] = first + i;  // remote: put
}

// Adds what the next GPU holds to sums of our own, so that the check sees every iteration.
__global__ void get(const uint4* next, uint4* sums, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint4 value = next[i];  // remote: get
    const uint4 sum = sums[i];
    sums[i] = make_uint4(sum.x + value.x, sum.y + value.y, sum.z + value.z, sum.w + value.w);
}

// The stride is 0: all threads add to one counter. The compiler must not know, or it would let one lane add for its warp.
__global__ void bump(uint32_t* counter, uint32_t stride) {
    atomicAdd(counter + threadIdx.x * stride, 1u);  // remote: bump
}

struct Gpu {
    cudaStream_t stream;
    uint32_t* inbox;    // N words, written and read by the GPU before this one
    uint4* sums;        // N / 4 sums of what this GPU read
    uint32_t* counter;  // one word, counted up by the GPU before this one
};

// The word that GPU `issuer` puts at index 0; index i holds `first` + i.
uint32_t first_word(uint32_t issuer, uint32_t iteration) { return issuer * 0x9E3779B9u + iteration * 0x85EBCA6Bu; }

int main(int argc, char** argv) {
    const char* usage = "ring N ITERS    (N from 4 to 2^30, ITERS from 1 to 2^30)";
    const uint32_t n = argument(argc == 3 ? argv[1] : nullptr, 4, 1 << 30, usage);
    const uint32_t iterations = argument(argc == 3 ? argv[2] : nullptr, 1, 1 << 30, usage);
    const int gpus = open_gpus("ring");

    std::vector<Gpu> ring(gpus);
    for (int g = 0; g < gpus; ++g) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaStreamCreate(&ring[g].stream));
        CHECK(cudaMalloc(&ring[g].inbox, n * sizeof(uint32_t)));
        CHECK(cudaMalloc(&ring[g].sums, n / 4 * sizeof(uint4)));
        CHECK(cudaMalloc(&ring[g].counter, sizeof(uint32_t)));
        CHECK(cudaMemset(ring[g].sums, 0, n / 4 * sizeof(uint4)));
        CHECK(cudaMemset(ring[g].counter, 0, sizeof(uint32_t)));
        CHECK(cudaDeviceSynchronize());
    }

    for (uint32_t iteration = 0; iteration < iterations; ++iteration) {
        for (int g = 0; g < gpus; ++g) {
            const Gpu& next = ring[(g + 1) % gpus];
            const uint32_t quads = n / 4;
            CHECK(cudaSetDevice(g));
            put<<<(n + kBlock - 1) / kBlock, kBlock, 0, ring[g].stream>>>(next.inbox, n, first_word(g, iteration));
            CHECK(cudaGetLastError());
            get<<<(quads + kBlock - 1) / kBlock, kBlock, 0, ring[g].stream>>>(reinterpret_cast<const uint4*>(next.inbox), ring[g].sums,
                                                                              quads);
            CHECK(cudaGetLastError());
            bump<<<kBumpBlocks, kBumpThreads, 0, ring[g].stream>>>(next.counter, 0);
            CHECK(cudaGetLastError());
        }
    }
    for (int g = 0; g < gpus; ++g) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaStreamSynchronize(ring[g].stream));
    }

    bool right = true;
    std::printf("ring: %d GPUs, %u words, %u iterations\n", gpus, n, iterations);
    for (int g = 0; g < gpus; ++g) {
        const int owner = (g + 1) % gpus;
        std::vector<uint32_t> inbox(n), sums(n / 4 * 4);
        uint32_t counter = 0;
        CHECK(cudaMemcpy(inbox.data(), ring[owner].inbox, n * sizeof(uint32_t), cudaMemcpyDefault));
        CHECK(cudaMemcpy(sums.data(), ring[g].sums, sums.size() * sizeof(uint32_t), cudaMemcpyDefault));
        CHECK(cudaMemcpy(&counter, ring[owner].counter, sizeof counter, cudaMemcpyDefault));

        uint32_t put_wrong = 0, get_wrong = 0, sum_of_firsts = 0;
        for (uint32_t k = 0; k < iterations; ++k) sum_of_firsts += first_word(g, k);
        for (uint32_t i = 0; i < inbox.size(); ++i) put_wrong += inbox[i] != first_word(g, iterations - 1) + i;
        for (uint32_t i = 0; i < sums.size(); ++i) get_wrong += sums[i] != sum_of_firsts + iterations * i;
        const uint32_t expected = iterations * kBumpBlocks * kBumpThreads;
        std::printf("GPU %d to GPU %d: put %u wrong, get %u wrong, counter %u of %u\n", g, owner, put_wrong, get_wrong, counter, expected);
        right = right && put_wrong == 0 && get_wrong == 0 && counter == expected;
    }
    return verdict(right);
}
