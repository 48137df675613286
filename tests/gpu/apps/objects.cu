// objects ROUNDS MANY: each GPU g visits memory of GPU g + 1, objects that have their pages to themselves and objects that share them. All
// visits are of n = 65536 threads in blocks of 256; thread i takes word i.
//
// Objects are told by their sizes: `source` has 4 MiB, `target` 6 MiB; `sum` has 4 bytes, and its page another small object; `again` has
// 8 MiB, and is allocated, visited and freed ROUNDS times; MANY have 2 MiB each and live at the same time; `first` and `second` have 10 and
// 12 MiB, and `second` may take the memory of `first`, which is freed in the stream's order before its visit has begun.
//
// The launches of each GPU, in this order:
//   kernel  visits              operation  accesses  lanes  bytes/lane  sectors
//   visit   source              load       n / 32    n      4           n / 8
//           target              store      n / 32    n      4           n / 8
//           sum                 reduction  n / 32    n      4           n / 32
//   both    source and target   store      n / 32    n      4           n / 4     even threads the one, odd ones the other
//   fill    again, ROUNDS times store      n / 32    n      4           n / 8
//   fill    each of MANY        store      n / 32    n      4           n / 8
//   fill    first, second       store      n / 32    n      4           n / 8     where there are pools
#include <cstdint>
#include <vector>

#include "common.cuh"

constexpr uint32_t kBlock = 256;
constexpr uint32_t kWords = 1 << 16;
constexpr size_t kPage = 2 << 20;

__device__ uint32_t thread() { return blockIdx.x * kBlock + threadIdx.x; }

// The stride is 0: all threads add to one word. The compiler must not know, or it would let one lane add for its warp.
__global__ void visit(const uint32_t* source, uint32_t* target, uint32_t* sum, uint32_t stride) {
    const uint32_t i = thread();
    const uint32_t word = source[i];  // remote: load
    target[i] = word + 1;             // remote: store
    atomicAdd(sum + i * stride, 1u);  // remote: add
}

__global__ void both(uint32_t* even, uint32_t* odd) {
    const uint32_t i = thread();
    uint32_t* words = i % 2 ? odd : even;
    words[i] = 3 * i;  // remote: both
}

__global__ void fill(uint32_t* words, uint32_t first) {
    const uint32_t i = thread();
    words[i] = first + i;  // remote: fill
}

__global__ void delay(uint64_t nanoseconds) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}

template <class Check>
bool holds(const uint32_t* words, Check value) {
    std::vector<uint32_t> found(kWords);
    CHECK(cudaMemcpy(found.data(), words, kWords * sizeof(uint32_t), cudaMemcpyDefault));
    bool right = true;
    for (uint32_t i = 0; i < kWords; ++i) right = right && found[i] == value(i, found[i]);
    return right;
}

// The pair of an issuer and an owner.
class Pair {
  public:
    Pair(int issuer, int owner) : issuer_(issuer), owner_(owner) {}

    bool large_and_small() {
        uint32_t* source = allocate(2 * kPage);
        uint32_t* target = allocate(3 * kPage);
        uint32_t* sum = allocate(4);
        uint32_t* neighbour = allocate(8);
        CHECK(cudaSetDevice(owner_));
        CHECK(cudaMemset(source, 0, 2 * kPage));
        CHECK(cudaMemset(target, 0, 3 * kPage));
        CHECK(cudaMemset(sum, 0, 4));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaSetDevice(issuer_));
        visit<<<kWords / kBlock, kBlock>>>(source, target, sum, 0);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        bool right = holds(target, [](uint32_t, uint32_t) { return 1u; });
        uint32_t total = 0;
        CHECK(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDefault));
        right = right && total == kWords;
        both<<<kWords / kBlock, kBlock>>>(source, target);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        right = right && holds(source, [](uint32_t i, uint32_t) { return i % 2 ? 0 : 3 * i; });
        right = right && holds(target, [](uint32_t i, uint32_t) { return i % 2 ? 3 * i : 1; });
        for (uint32_t* words : {source, target, sum, neighbour}) CHECK(cudaFree(words));
        return right;
    }

    bool again() {
        uint32_t* words = allocate(4 * kPage);
        const bool right = visited(words);
        CHECK(cudaFree(words));
        return right;
    }

    bool many(int count) {
        std::vector<uint32_t*> objects(count);
        for (uint32_t*& words : objects) words = allocate(kPage);
        bool right = true;
        for (uint32_t* words : objects) right = visited(words) && right;
        for (uint32_t* words : objects) CHECK(cudaFree(words));
        return right;
    }

    bool in_stream_order() {
        cudaMemPool_t pool;
        CHECK(cudaDeviceGetDefaultMemPool(&pool, owner_));
        cudaMemAccessDesc access{};
        access.location = {cudaMemLocationTypeDevice, issuer_};
        access.flags = cudaMemAccessFlagsProtReadWrite;
        CHECK(cudaMemPoolSetAccess(pool, &access, 1));
        CHECK(cudaSetDevice(issuer_));
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));
        uint32_t *first, *second;
        CHECK(cudaMallocFromPoolAsync(&first, 5 * kPage, pool, stream));
        delay<<<1, 1, 0, stream>>>(100000000);
        CHECK(cudaGetLastError());
        fill<<<kWords / kBlock, kBlock, 0, stream>>>(first, ++first_);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(first, stream));
        CHECK(cudaMallocFromPoolAsync(&second, 6 * kPage, pool, stream));
        fill<<<kWords / kBlock, kBlock, 0, stream>>>(second, ++first_);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream));
        const bool right = holds(second, [this](uint32_t i, uint32_t) { return first_ + i; });
        CHECK(cudaFreeAsync(second, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
        return right;
    }

  private:
    uint32_t* allocate(size_t bytes) {
        uint32_t* words = nullptr;
        CHECK(cudaSetDevice(owner_));
        CHECK(cudaMalloc(&words, bytes));
        return words;
    }

    bool visited(uint32_t* words) {
        first_ += 1000003;
        CHECK(cudaSetDevice(issuer_));
        fill<<<kWords / kBlock, kBlock>>>(words, first_);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        return holds(words, [this](uint32_t i, uint32_t) { return first_ + i; });
    }

    int issuer_;
    int owner_;
    uint32_t first_ = 0;
};

bool pools_are_here(int gpus) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
        int supported = 0;
        CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, gpu));
        if (!supported) return false;
    }
    return true;
}

int main(int argc, char** argv) {
    const char* usage = "objects ROUNDS MANY";
    const long rounds = argument(argc == 3 ? argv[1] : nullptr, 0, 1 << 16, usage);
    const long many = argument(argc == 3 ? argv[2] : nullptr, 0, 1 << 12, usage);
    const int gpus = open_gpus("objects");
    const bool pools = pools_are_here(gpus);
    bool right = true;
    for (int gpu = 0; gpu < gpus; ++gpu) {
        Pair pair(gpu, (gpu + 1) % gpus);
        right = pair.large_and_small() && right;
        for (long round = 0; round < rounds; ++round) right = pair.again() && right;
        right = pair.many(static_cast<int>(many)) && right;
        if (pools) right = pair.in_stream_order() && right;
    }
    std::printf("pools: %s\n", pools ? "right" : "not here");
    return verdict(right);
}
