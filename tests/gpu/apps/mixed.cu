// mixed: one small kernel for every kind of global memory instruction, GPU 0 on the memory of GPU 1, each launched once.
//
// 512 threads in 4 blocks, thread i touches one element. Bytes a lane, and which threads i (all, unless said):
//   copy<T>     copy: first a store of 1, 2, 4, 8, 16, then a load of them     (launched there and back for each of five T)
//   atomics     add: atomic of 4    cas: atomic of 4    exch: atomic of 8      (their results are used)
//   reductions  half: of 4    floats: of 16, a store before sm_90              (no result)
//   scatter     scattered: store of 4 to word 37 i % 512    strided: store of 4 to word 3 i, for i % 3 != 1
//   loop        loop: stores of 4 to words i, 512 + i, ... 512 (i % 4) + i, so a loop whose lanes leave one by one
//   functions   generic: store of 4 by a function that is not inlined, for even i (odd i store to shared memory)
//               inlined: store of 4, inlined at `call inlined`
//   async_copy  async: load of 16, straight into shared memory
// And by GPU 0 on all G GPUs at once, itself included:
//   spread      spread: store of 4 to word i of GPU i % G, so one instruction with several owners
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "arrays.cuh"

constexpr int kBlocks = 4;
constexpr int kBlock = 128;
constexpr int kThreads = kBlocks * kBlock;

__device__ int thread() { return blockIdx.x * kBlock + threadIdx.x; }

template <typename T>
__global__ void copy(T* to, const T* from) {
    to[thread()] = from[thread()];  // remote: copy
}

__global__ void atomics(uint32_t* sums, uint32_t* swapped, unsigned long long* wide, unsigned long long* seen) {
    const uint32_t i = thread();
    const uint32_t added = atomicAdd(&sums[i], i);            // remote: add
    const uint32_t compared = atomicCAS(&swapped[i], 0u, i);  // remote: cas
    const unsigned long long old = atomicExch(&wide[i], i);   // remote: exch
    seen[i] = added + compared + old + 1;
}

__global__ void reductions(__half2* halves, float4* floats) {
    const int i = thread();
    atomicAdd(&halves[i], __floats2half2_rn(1.0f, float(i)));  // remote: half
    const float4 four = make_float4(1.0f, 2.0f, 3.0f, float(i));
#if __CUDA_ARCH__ >= 900
    atomicAdd(&floats[i], four);  // remote: floats
#else
    floats[i] = four;  // remote: floats
#endif
}

__global__ void scatter(uint32_t* shuffled, uint32_t* gaps) {
    const uint32_t i = thread();
    shuffled[i * 37 % kThreads] = i;  // remote: scattered
    if (i % 3 != 1) gaps[3 * i] = i;  // remote: strided
}

__global__ void loop(uint32_t* words) {
    const uint32_t i = thread();
#pragma unroll 1
    for (uint32_t k = 0; k <= i % 4; ++k) words[k * kThreads + i] = k + 1;  // remote: loop
}

__device__ __noinline__ void put_generic(uint32_t* to, uint32_t value) {
    *to = value;  // remote: generic
}

__device__ __forceinline__ void put_inlined(uint32_t* to, uint32_t value) {
    *to = value;  // remote: inlined
}

__global__ void functions(uint32_t* evens, uint32_t* all, uint32_t* odds) {
    __shared__ uint32_t shared[kBlock];
    const uint32_t i = thread();
    shared[threadIdx.x] = 0;
    put_generic(i % 2 == 0 ? &evens[i] : &shared[threadIdx.x], i);
    put_inlined(&all[i], i);  // call inlined
    odds[i] = shared[threadIdx.x];
}

__global__ void async_copy(const uint4* from, uint4* to) {
    __shared__ uint4 shared[kBlock];
    __pipeline_memcpy_async(&shared[threadIdx.x], &from[thread()], sizeof(uint4));  // remote: async
    __pipeline_commit();
    __pipeline_wait_prior(0);
    to[thread()] = shared[threadIdx.x];
}

__global__ void spread(uint32_t* const* owners, int gpus) {
    const uint32_t i = thread();
    owners[i % gpus][i] = i;  // remote: spread
}

bool all_right = true;

template <typename Right>
void expect(const char* name, Right right) {
    CHECK(cudaGetLastError());
    bool ok = true;
    for (uint32_t i = 0; i < kThreads; ++i) ok = ok && right(i);
    std::printf("%s: %s\n", name, ok ? "right" : "wrong");
    all_right = all_right && ok;
}

template <typename T>
void copy_there_and_back(const char* name) {
    std::vector<unsigned char> bytes(16384);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = i * 7 + i / 256;
    const Array source(0), there(1), back(0);
    source.write(bytes);
    copy<T><<<kBlocks, kBlock>>>(there, source);
    copy<T><<<kBlocks, kBlock>>>(back, there);
    const auto copied = back.read<unsigned char>();
    expect(name, [&](uint32_t i) { return !std::memcmp(&copied[i * sizeof(T)], &bytes[i * sizeof(T)], sizeof(T)); });
}

int main() {
    const int gpus = open_gpus("mixed");
    CHECK(cudaSetDevice(0));

    copy_there_and_back<uint8_t>("copy of 1 byte");
    copy_there_and_back<uint16_t>("copy of 2 bytes");
    copy_there_and_back<uint32_t>("copy of 4 bytes");
    copy_there_and_back<uint64_t>("copy of 8 bytes");
    copy_there_and_back<uint4>("copy of 16 bytes");

    const Array sums(1), swapped(1), wide(1), seen(0);
    atomics<<<kBlocks, kBlock>>>(sums, swapped, wide, seen);
    expect("atomics", [a = sums.read<uint32_t>(), b = swapped.read<uint32_t>(), c = wide.read<uint64_t>(),
                       d = seen.read<uint64_t>()](uint32_t i) { return a[i] == i && b[i] == i && c[i] == i && d[i] == 1; });

    const Array halves(1), floats(1);
    reductions<<<kBlocks, kBlock>>>(halves, floats);
    expect("reductions", [a = halves.read<__half2>(), b = floats.read<float4>()](uint32_t i) {
        const bool four = b[i].x == 1.0f && b[i].y == 2.0f && b[i].z == 3.0f && b[i].w == float(i);
        return four && __low2float(a[i]) == 1.0f && __high2float(a[i]) == float(i);
    });

    const Array shuffled(1), gaps(1);
    scatter<<<kBlocks, kBlock>>>(shuffled, gaps);
    expect("scatter", [a = shuffled.read<uint32_t>(), b = gaps.read<uint32_t>()](uint32_t i) {
        return a[i * 37 % kThreads] == i && b[3 * i] == (i % 3 != 1 ? i : 0);
    });

    const Array looped(1);
    loop<<<kBlocks, kBlock>>>(looped);
    expect("loop", [a = looped.read<uint32_t>()](uint32_t i) {
        bool ok = true;
        for (uint32_t k = 0; k < 4; ++k) ok = ok && a[k * kThreads + i] == (k <= i % 4 ? k + 1 : 0);
        return ok;
    });

    const Array evens(1), all(1), odds(0);
    functions<<<kBlocks, kBlock>>>(evens, all, odds);
    expect("functions", [a = evens.read<uint32_t>(), b = all.read<uint32_t>(), c = odds.read<uint32_t>()](uint32_t i) {
        return a[i] == (i % 2 == 0 ? i : 0) && b[i] == i && c[i] == (i % 2 == 0 ? 0 : i);
    });

    const Array copied(0);
    async_copy<<<kBlocks, kBlock>>>(all, copied);
    expect("async_copy", [a = copied.read<uint32_t>()](uint32_t i) { return a[i] == i; });

    std::vector<Array> pieces;
    std::vector<uint32_t*> addresses;
    for (int g = 0; g < gpus; ++g) addresses.push_back(pieces.emplace_back(g));
    const Array owners(0);
    owners.write(addresses);
    spread<<<kBlocks, kBlock>>>(owners, gpus);
    std::vector<std::vector<uint32_t>> words;
    for (const Array& piece : pieces) words.push_back(piece.read<uint32_t>());
    expect("spread", [&](uint32_t i) {
        bool ok = true;
        for (int g = 0; g < gpus; ++g) ok = ok && words[g][i] == (uint32_t(g) == i % gpus ? i : 0);
        return ok;
    });
    return verdict(all_right);
}
