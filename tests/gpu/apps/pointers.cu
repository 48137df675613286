// pointers: addresses that parameters lead to in all ways. Each kernel is launched `launches` times. Its 1024 threads store 4 bytes each,
// in the third launch of every four into far memory (far_place), in the others into that of GPU 0, which runs it. What differs between
// these launches, and the line of the store:
//   direct      the pointer                                       plain: store
//   in_struct   a pointer in a struct, between two integers       member: store
//   in_large    a pointer behind more than 4 KiB of parameters    beyond: store
//   in_table    one of four pointers in a struct, by its index    entry: store
//   from_memory a pointer in the GPU's memory                     loaded: store
//   managed     a pointer in managed memory                       page: store
//   constant    a pointer in __constant__ memory                  bank: store
//   shared      a pointer that goes through shared memory         tile: store
//   distance    a distance in bytes                               bytes: store
//   elements    a distance in elements, in 64 bits                far: store
//   number      a distance in elements, in 32 bits                near: store
//   difference  another pointer, of which the kernel takes the distance      other: store
//   before      a pointer before its allocation                   behind: store
//   either      which of two pointers is taken                    chosen: store
//   shuffled    which of two pointers other lanes hand over       handed: store
//   function    a pointer that a function through a pointer returns          called: store
//   swapped     which of two pointers a loop ends with            last: store
//   by_mode     whether the pointer is in memory, as a number says           mode: store
//   by_list     whether there is a list of pointers in memory     listed: store
//   by_switch   which way a switch takes                          switched: store
//   counted     what a loop makes of such a number                turned: store
//   by_block    how many blocks there are, at a distance          apart: store
//   by_rank     how many times a distance, from memory to memory  rank: store
#include <cstdint>
#include <vector>

#include "arrays.cuh"

constexpr const char* kUsage = "pointers [launches]";
constexpr int kThreads = 1024;
constexpr size_t kBytes = 8 << 20;  // four pages each, so that nothing shares a page

__device__ __forceinline__ uint32_t thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void direct(uint32_t* to) {
    to[thread()] = 1;  // remote: plain
}

struct Pair {
    int32_t scale;
    int32_t first;
    uint32_t* to;
};
__global__ void in_struct(Pair pair) {
    pair.to[thread() * pair.scale + pair.first] = 1;  // remote: member
}

struct Large {
    uint64_t before[600];
    uint32_t* to;
};
__global__ void in_large(const __grid_constant__ Large large) {
    large.to[thread()] = 1;  // remote: beyond
}

struct Table {
    uint32_t* to[4];
};
__global__ void in_table(Table table, int which) {
    table.to[which][thread()] = 1;  // remote: entry
}

__global__ void from_memory(uint32_t** where) {
    (*where)[thread()] = 1;  // remote: loaded
}
__global__ void managed(uint32_t** where) {
    (*where)[thread()] = 1;  // remote: page
}

__constant__ uint32_t* constant_pointer;
__global__ void constant() {
    constant_pointer[thread()] = 1;  // remote: bank
}

__global__ void shared(uint32_t* to) {
    __shared__ uint32_t* volatile kept[32];
    if (threadIdx.x < 32) kept[threadIdx.x ^ 1] = to;
    __syncthreads();
    kept[threadIdx.x % 32][thread()] = 1;  // remote: tile
}

__global__ void distance(char* base, int64_t bytes) {
    *reinterpret_cast<uint32_t*>(base + bytes + 4 * thread()) = 1;  // remote: bytes
}
__global__ void elements(uint32_t* base, int64_t count) {
    base[count + thread()] = 1;  // remote: far
}
__global__ void number(uint32_t* base, int32_t count) {
    base[count + static_cast<int64_t>(thread())] = 1;  // remote: near
}
__global__ void difference(uint32_t* base, uint32_t* other) {
    const int64_t count = other - base;
    base[count + thread()] = 1;  // remote: other
}
__global__ void before(uint32_t* to) {
    to[4096 + thread()] = 1;  // remote: behind
}
__global__ void either(uint32_t* a, uint32_t* b, int second) {
    (second ? b : a)[thread()] = 1;  // remote: chosen
}
__global__ void shuffled(uint32_t* a, uint32_t* b, int second) {
    const uint64_t mine = reinterpret_cast<uint64_t>(second == static_cast<int>(threadIdx.x & 1) ? b : a);
    const uint64_t others = __shfl_xor_sync(~0u, second < 2 ? mine : reinterpret_cast<uint64_t>(a), 1);
    const uint64_t place = second < 2 ? reinterpret_cast<uint64_t>(b) : others;
    reinterpret_cast<uint32_t*>(place)[thread()] = 1;  // remote: handed
}

using Step = uint32_t* (*)(uint32_t*);
__device__ __noinline__ uint32_t* keep(uint32_t* p) { return p; }
__device__ __noinline__ uint32_t* move_on(uint32_t* p) { return p + 1; }
__device__ Step steps[] = {keep, move_on};
__global__ void function(uint32_t* to, int which) {
    steps[which](to)[thread()] = 1;  // remote: called
}
__global__ void swapped(uint32_t* a, uint32_t* b, int turns) {
    for (int i = 0; i < turns; ++i) {
        uint32_t* const other = a;
        a = b;
        b = other;
    }
    a[thread()] = 1;  // remote: last
}

// The ways of a library's kernel: the launch says which, and one takes the pointer from memory.
struct Ways {
    uint32_t* to;
    uint32_t** list;
    int mode;
};
__global__ void by_mode(Ways ways) {
    uint32_t* to = ways.to;
    if (ways.mode == 2) to += blockIdx.y;
    if (ways.mode == 3) to = ways.list[blockIdx.y];
    to[thread()] = 1;  // remote: mode
}
__global__ void by_list(Ways ways) {
    (ways.list ? ways.list[blockIdx.y] : ways.to)[thread()] = 1;  // remote: listed
}

__device__ __forceinline__ float worked(float value, int rounds) {
    for (int i = 0; i < rounds; ++i) value = value * value + static_cast<float>(i);
    return value;
}
__global__ void by_switch(Ways ways, int rounds) {
    uint32_t* to = ways.to;
    float value = static_cast<float>(thread());
    switch (ways.mode) {
        case 0:
            value = worked(value, rounds);
            break;
        case 1:
            value = worked(1 - value, rounds + 1) * 3;
            break;
        case 2:
            value = __expf(value);
            break;
        case 3:
            value = worked(2 + value, 4 * rounds);
            break;
        case 4:
            to = ways.list[blockIdx.y];
            break;
        default:
            return;
    }
    to[thread()] = value == 1234567.0f ? 2 : 1;  // remote: switched
}
__global__ void counted(Ways ways, int turns) {
#pragma unroll 1
    for (int i = 0; i < turns; ++i) ways.mode += 1 + (ways.mode == 7);
    (ways.mode == 3 ? *ways.list : ways.to)[thread()] = 1;  // remote: turned
}
__global__ void by_block(uint32_t* base, int64_t apart) {
    base[blockIdx.y * apart + thread()] = 1;  // remote: apart
}
__global__ void by_rank(uint32_t* base, int64_t apart, uint32_t rank) {
    base[rank * apart + thread()] = 1;  // remote: rank
}

int main(int argc, char** argv) {
    const int launches = argc > 1 ? static_cast<int>(argument(argv[1], 4, 100000, kUsage)) : 4;
    const Array own(0, kBytes), peer(far_place("pointers"), kBytes), slot(0, kBytes), source(0, kBytes);
    uint32_t* const here = own;
    uint32_t* const there = peer;
    CHECK(cudaSetDevice(0));
    uint32_t** paged = nullptr;
    CHECK(cudaMallocManaged(&paged, 2 << 20));
    Large large = {};
    const dim3 grid(kThreads / 256), block(256);
    for (int i = 0; i < launches; ++i) {
        const bool far = i % 4 == 2;
        uint32_t* const to = far ? there : here;
        const int64_t bytes = far ? reinterpret_cast<char*>(there) - reinterpret_cast<char*>(here) : 0;
        direct<<<grid, block>>>(to);
        in_struct<<<grid, block>>>({1, 5, to});
        large.to = to;
        in_large<<<grid, block>>>(large);
        in_table<<<grid, block>>>({here, there, here, here}, far ? 1 : i % 2 ? 0 : 3);
        CHECK(cudaMemcpy(slot.address, &to, sizeof to, cudaMemcpyHostToDevice));
        from_memory<<<grid, block>>>(slot);
        CHECK(cudaDeviceSynchronize());
        *paged = to;
        managed<<<grid, block>>>(paged);
        CHECK(cudaMemcpyToSymbol(constant_pointer, &to, sizeof to));
        constant<<<grid, block>>>();
        shared<<<grid, block>>>(to);
        distance<<<grid, block>>>(reinterpret_cast<char*>(here), bytes);
        elements<<<grid, block>>>(here, bytes / 4);
        // Only where the other allocation is near enough; nothing is expected where it is not.
        const bool near = bytes / 4 == static_cast<int32_t>(bytes / 4);
        number<<<grid, block>>>(near ? here : to, near ? static_cast<int32_t>(bytes / 4) : 0);
        difference<<<grid, block>>>(here, to);
        before<<<grid, block>>>(to - 4096);
        either<<<grid, block>>>(here, there, far);
        shuffled<<<grid, block>>>(here, there, far ? 1 : 2);
        function<<<grid, block>>>(to, i % 2);
        swapped<<<grid, block>>>(here, there, far ? 3 : 4);
        // In every fourth launch the pointer is in memory, too, and leads to the GPU's own.
        const bool listed = i % 4 >= 2;
        by_mode<<<grid, block>>>({here, slot, listed ? 3 : 0});
        by_list<<<grid, block>>>({here, listed ? static_cast<uint32_t**>(slot) : nullptr, 0});
        by_switch<<<grid, block>>>({here, slot, listed ? 4 : i % 4}, 3);
        counted<<<grid, block>>>({here, slot, 0}, far ? 3 : 5);
        by_block<<<dim3(kThreads / 256, far ? 2 : 1), block>>>(here, there - here);
        by_rank<<<grid, block>>>(here, there - here, far);
    }
    CHECK(cudaDeviceSynchronize());
    const std::vector<uint32_t> stored = peer.read<uint32_t>();
    bool right = true;
    for (int i = 5; i < kThreads; ++i) right &= stored[i] == 1;
    CHECK(cudaFree(paged));
    return verdict(right);
}
