// nvshmem_ops FILE: what a kernel can do to another PE's memory with NVSHMEM, one process a GPU, each PE on the next one of a ring.
//
// A launcher says which PE this is; PE 0 tells the others how to reach it through FILE. Every kernel is launched once, `grown` three
// times, with 256 threads in 2 blocks. Its traffic, issuer i, owner i + 1 (sectors are of 32 bytes; arrays start at a sector):
//   kernel    line        operation  bytes/lane        accesses   lanes     sectors
//   words     p, direct   store      4                 8          256       32         direct: through nvshmem_ptr
//             g           load       4                 8          256       32
//   threads   put, nbi    store      16                8          256       128        a thread moves 16 bytes
//             get         load       16                8          256       128
//             odd         store      16, 8, 4, 2, 1    8 each     256 each  256 each   a thread moves 31 bytes of 32
//   groups    warp, block store      16                16         512       256        a warp moves 1 KiB, a block 4 KiB
//             from_warp,  load       16                16         512       256
//             from_block
//   atomics   fetch_add   atomic     4                 8          256       32
//             add         atomic     4                 8          256       32
//             cas, swap   atomic     8                 8          256       64
//   signals   set         store      8                 8          256       64
//             increase    atomic     8                 8          256       64
//             notify      store      16                16         512       256        a block moves 4 KiB,
//                         store      8                 2          2         2          then tells so
//   grown     grown       store      4                 8          256       256        over a heap that grew for it
// And on all n PEs at once, itself included:
//   everyone  everyone    store      4                 thread t to PE t % n, word t
#include <cstdint>
#include <vector>

#include "nvshmem_common.cuh"

constexpr int kBlocks = 2;
constexpr int kBlock = 128;
constexpr int kThreads = kBlocks * kBlock;
constexpr int kWarpWords = 256;
constexpr int kBlockWords = 1024;

__device__ int thread() { return blockIdx.x * kBlock + threadIdx.x; }

__global__ void words(uint32_t* put, uint32_t* stored, uint32_t* got, const uint32_t* source, int pe) {
    const int i = thread();
    nvshmem_uint_p(&put[i], source[i], pe);                          // remote: p
    got[i] = nvshmem_uint_g(&source[i], pe);                         // remote: g
    static_cast<uint32_t*>(nvshmem_ptr(stored, pe))[i] = source[i];  // remote: direct
}

__global__ void threads(uint32_t* put, uint32_t* later, uint32_t* got, uint32_t* odd, const uint32_t* source, int pe) {
    const int i = thread();
    nvshmem_uint_put(put + 4 * i, source + 4 * i, 4, pe);        // remote: put
    nvshmem_uint_put_nbi(later + 4 * i, source + 4 * i, 4, pe);  // remote: nbi
    nvshmem_uint_get(got + 4 * i, source + 4 * i, 4, pe);        // remote: get
    nvshmem_putmem(odd + 8 * i, source + 8 * i, 31, pe);         // remote: odd
    nvshmem_quiet();
}

__global__ void groups(uint32_t* by_warp, uint32_t* by_block, uint32_t* warp_got, uint32_t* block_got, const uint32_t* source, int pe) {
    const int warp = thread() / 32 * kWarpWords;
    const int block = blockIdx.x * kBlockWords;
    nvshmemx_uint_put_warp(by_warp + warp, source + warp, kWarpWords, pe);        // remote: warp
    nvshmemx_uint_put_block(by_block + block, source + block, kBlockWords, pe);   // remote: block
    nvshmemx_uint_get_warp(warp_got + warp, source + warp, kWarpWords, pe);       // remote: from_warp
    nvshmemx_uint_get_block(block_got + block, source + block, kBlockWords, pe);  // remote: from_block
}

using Wide = unsigned long long;

__global__ void atomics(uint32_t* fetched, uint32_t* added, Wide* compared, Wide* swapped, Wide* seen, int pe) {
    const int i = thread();
    const Wide before = nvshmem_uint_atomic_fetch_add(&fetched[i], i + 1, pe);                   // remote: fetch_add
    nvshmem_uint_atomic_add(&added[i], i + 1, pe);                                               // remote: add
    const Wide expected = nvshmem_ulonglong_atomic_compare_swap(&compared[i], 0ull, i + 1, pe);  // remote: cas
    const Wide old = nvshmem_ulonglong_atomic_swap(&swapped[i], i + 1, pe);                      // remote: swap
    seen[i] = before + expected + old + 1;
}

__global__ void signals(uint64_t* set, uint64_t* increased, uint32_t* data, uint64_t* arrived, const uint32_t* source, int pe) {
    const int i = thread();
    const int block = blockIdx.x * kBlockWords;
    uint64_t* told = &arrived[blockIdx.x];
    nvshmemx_signal_op(&set[i], i + 1, NVSHMEM_SIGNAL_SET, pe);        // remote: set
    nvshmemx_signal_op(&increased[i], i + 1, NVSHMEM_SIGNAL_ADD, pe);  // remote: increase
    const uint32_t* from = source + block;
    nvshmemx_uint_put_signal_block(data + block, from, kBlockWords, told, 1, NVSHMEM_SIGNAL_SET, pe);  // remote: notify
    if (threadIdx.x == 0) nvshmem_signal_wait_until(told, NVSHMEM_CMP_EQ, 1);
}

__global__ void grown(uint32_t* words, size_t stride, int pe) {
    const int i = thread();
    nvshmem_uint_p(&words[i * stride], i + 1, pe);  // remote: grown
}

__global__ void everyone(uint32_t* words, uint32_t value, int pes) {
    const int i = thread();
    nvshmem_uint_p(&words[i], value, i % pes);  // remote: everyone
}

bool all_right = true;

// A zeroed array in the symmetric heap, the same on all PEs.
template <typename T>
struct Symmetric {
    T* address;
    size_t count;

    explicit Symmetric(size_t count) : address(symmetric<T>(count)), count(count) {}
    operator T*() const { return address; }

    // Whether element `stride` × i is right(i), for all i that there are.
    template <typename Right>
    void expect(const char* name, Right right, size_t stride = 1) const {
        std::vector<T> values(count / stride);
        CHECK(cudaMemcpy2D(values.data(), sizeof(T), address, stride * sizeof(T), sizeof(T), values.size(), cudaMemcpyDefault));
        size_t wrong = 0;
        for (size_t i = 0; i < values.size(); ++i) wrong += values[i] != right(i);
        std::printf("%s: %zu wrong\n", name, wrong);
        all_right = all_right && wrong == 0;
    }
};

// Runs what needs zeroed arrays everywhere, and waits until all PEs have done so.
template <typename Launch>
void everywhere(Launch launch) {
    nvshmem_barrier_all();
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    nvshmem_barrier_all();
}

uint32_t word(int pe, size_t i) { return (pe + 1) * 0x9E3779B9u + uint32_t(i); }

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: nvshmem_ops FILE\n");
        return 2;
    }
    join("nvshmem_ops", argv[1]);
    const int me = nvshmem_my_pe();
    const int pes = nvshmem_n_pes();
    const int next = (me + 1) % pes;
    const int previous = (me + pes - 1) % pes;
    std::printf("PE %d of %d\n", me, pes);

    constexpr size_t kWords = kBlocks * kBlockWords;
    const Symmetric<uint32_t> source(kWords);
    std::vector<uint32_t> own(kWords);
    for (size_t i = 0; i < kWords; ++i) own[i] = word(me, i);
    CHECK(cudaMemcpy(source, own.data(), kWords * sizeof own[0], cudaMemcpyDefault));
    const auto of_next = [&](size_t i) { return word(next, i); };
    const auto of_previous = [&](size_t i) { return word(previous, i); };
    const auto one_more = [](size_t i) { return uint32_t(i + 1); };

    {
        const Symmetric<uint32_t> put(kThreads), stored(kThreads), got(kThreads);
        everywhere([&] { words<<<kBlocks, kBlock>>>(put, stored, got, source, next); });
        put.expect("p", of_previous);
        got.expect("g", of_next);
        stored.expect("nvshmem_ptr", of_previous);
    }
    {
        const Symmetric<uint32_t> put(4 * kThreads), later(4 * kThreads), got(4 * kThreads), odd(8 * kThreads);
        everywhere([&] { threads<<<kBlocks, kBlock>>>(put, later, got, odd, source, next); });
        put.expect("put", of_previous);
        later.expect("put_nbi", of_previous);
        got.expect("get", of_next);
        odd.expect("putmem", [&](size_t i) { return of_previous(i) & (i % 8 == 7 ? 0x00ffffff : 0xffffffff); });
    }
    {
        const Symmetric<uint32_t> by_warp(kWords), by_block(kWords), warp_got(kWords), block_got(kWords);
        everywhere([&] { groups<<<kBlocks, kBlock>>>(by_warp, by_block, warp_got, block_got, source, next); });
        by_warp.expect("put_warp", of_previous);
        by_block.expect("put_block", of_previous);
        warp_got.expect("get_warp", of_next);
        block_got.expect("get_block", of_next);
    }
    {
        const Symmetric<uint32_t> fetched(kThreads), added(kThreads);
        const Symmetric<Wide> compared(kThreads), swapped(kThreads), seen(kThreads);
        everywhere([&] { atomics<<<kBlocks, kBlock>>>(fetched, added, compared, swapped, seen, next); });
        fetched.expect("fetch_add", one_more);
        added.expect("add", one_more);
        compared.expect("compare_swap", one_more);
        swapped.expect("swap", one_more);
        seen.expect("what the atomics returned", [](size_t) { return 1u; });
    }
    {
        const Symmetric<uint64_t> set(kThreads), increased(kThreads), arrived(kBlocks);
        const Symmetric<uint32_t> data(kWords);
        everywhere([&] { signals<<<kBlocks, kBlock>>>(set, increased, data, arrived, source, next); });
        set.expect("signal_op, set", one_more);
        increased.expect("signal_op, add", one_more);
        data.expect("put_signal_block", of_previous);
    }
    // Each is larger than what the heap had left of the piece that it last grew by, where NVSHMEM_CUMEM_GRANULARITY is 32 MiB.
    for (int growth = 0; growth < 3; ++growth) {
        constexpr size_t kStride = size_t(40 << 20) / sizeof(uint32_t) / kThreads;
        const Symmetric<uint32_t> large(kStride * kThreads);
        everywhere([&] { grown<<<kBlocks, kBlock>>>(large, kStride, next); });
        large.expect("p after the heap grew", one_more, kStride);
    }
    {
        const Symmetric<uint32_t> all(kThreads);
        // Words t with t % pes == me are this PE's; all PEs write the same there.
        everywhere([&] { everyone<<<kBlocks, kBlock>>>(all, 7, pes); });
        all.expect("p to everyone", [&](size_t i) { return int(i) % pes == me ? 7u : 0u; });
    }
    nvshmem_finalize();
    return verdict(all_right);
}
