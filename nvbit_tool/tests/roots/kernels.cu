// Kernels whose addresses are made from their parameters in known ways, for test_roots.cpp. The words in brackets are what an address is a
// sum of, and in parentheses what takes part in it otherwise.
#include <cassert>
#include <cuda/atomic>

#define KERNEL extern "C" __global__ void

__device__ __forceinline__ unsigned thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

// load [0], store [1]
KERNEL copy(const float* in, float* out) { out[thread()] = in[thread()]; }

// store [0]
KERNEL fill(unsigned* out, unsigned n) {
    if (thread() < n) out[thread()] = n;
}

// loads [0] (4), store [1] (4): the width of a row is a factor
KERNEL stencil(const float* in, float* out, int width) {
    const int i = static_cast<int>(blockIdx.y) * width + static_cast<int>(thread());
    out[i] = in[i - 1] + in[i + 1] + in[i - width] + in[i + width];
}

// The same, and a row goes to a neighbour: one more store [2]
KERNEL halo(const float* in, float* out, float* neighbour, int width) {
    const int i = static_cast<int>(blockIdx.y) * width + static_cast<int>(thread());
    const float sum = in[i - 1] + in[i + 1] + in[i - width] + in[i + width];
    out[i] = sum;
    if (blockIdx.y == 1) neighbour[thread()] = sum;
}

// load [0], store unknown: the pointer comes from memory
KERNEL from_memory(const float* in, float* const* out) { *out[blockIdx.x] = in[thread()]; }

struct Pair {
    const float* in;
    int first, second;
    float* out;
};

// load [0] (2, 3), store [2]: the two integers that share a word with neither
KERNEL in_struct(Pair pair) { pair.out[thread()] = pair.in[thread() * pair.first + pair.second]; }

struct Table {
    float* of[6];
};

// store unknown: an index chooses, in a copy in local memory
KERNEL indexed(Table table, int which) { table.of[which][thread()] = 1; }

// store [0, 1]: one of two
KERNEL either(float* a, float* b, int which) { (which ? a : b)[thread()] = 1; }

__constant__ float* constant_pointer;
// store unknown
KERNEL from_constant() { constant_pointer[thread()] = 1; }

__device__ float* global_pointer;
// load unknown, store unknown
KERNEL from_global() { global_pointer[thread()] = 1; }

// store unknown: the pointer went through shared memory
KERNEL through_shared(float* out) {
    __shared__ float* volatile shared[32];
    shared[threadIdx.x ^ 1] = out;
    __syncthreads();
    shared[threadIdx.x][threadIdx.x] = 1;
}

// store [0, 1]: a distance in bytes, which the kernel adds
KERNEL distance(char* base, long far) { base[far + thread()] = 1; }

// store [0] (2, 3): a distance in elements
KERNEL elements(int* base, long far) { base[far + thread()] = 1; }

// store [0, …]: the distance is made here, from another pointer
KERNEL difference(int* base, int* other) {
    const long far = other - base;
    base[far + thread()] = 1;
}

// store [0]: in 64 bits
KERNEL long_index(double* out, unsigned long n) {
    for (unsigned long i = thread(); i < n; i += gridDim.x * blockDim.x) out[i] = 1;
}

// store [0] (2): 64 bits of which only the lower half are loaded
KERNEL loaded_index(const int* index, float* out) { out[index[thread()]] = 1; }
// store unknown: an index of 64 bits could be a distance
KERNEL loaded_long_index(const long* index, float* out) { out[index[thread()]] = 1; }

// An aligned pointer is a sum no more, but no number either
KERNEL aligned(char* out) { *reinterpret_cast<int*>(reinterpret_cast<unsigned long>(out + thread()) & ~15ul) = 1; }

// store unknown: rebuilt from its halves
KERNEL shifted(unsigned long half) { *reinterpret_cast<int*>(half << 21 | thread() * 4) = 1; }

// load [0], store [1]: by tiles in shared memory
KERNEL transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    tile[threadIdx.y][threadIdx.x] = in[(blockIdx.y * 32 + threadIdx.y) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

// loads [0] and [1], stores [2]
KERNEL gemm(const float* a, const float* b, float* c, int n) {
    __shared__ float as[16][16], bs[16][16];
    const int row = static_cast<int>(blockIdx.y * 16 + threadIdx.y), column = static_cast<int>(blockIdx.x * 16 + threadIdx.x);
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        as[threadIdx.y][threadIdx.x] = a[row * n + k + static_cast<int>(threadIdx.x)];
        bs[threadIdx.y][threadIdx.x] = b[(k + static_cast<int>(threadIdx.y)) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Swapped at each step: both [0, 1]
KERNEL swapped(float* a, float* b, int steps) {
    for (int i = 0; i < steps; ++i) {
        b[thread()] = a[thread() + 1];
        float* const other = a;
        a = b;
        b = other;
    }
}

__device__ __noinline__ float* next(float* p) { return p + threadIdx.x + 1; }
// store unknown: what another function returns
KERNEL through_function(float* out) { *next(next(out)) = 1; }

// store [0] (2, 3): a division in 64 bits is a function of the kernel's own
KERNEL divided(float* out, unsigned long by) { out[clock64() / by] = 1; }

// atomics [0] and reductions [1]
KERNEL atomics(unsigned* a, unsigned long long* b) {
    a[thread()] = atomicAdd(a, 1u);
    atomicMax(b + thread(), 2ull);
}

// both [0] and [1]: the choice differs by lane
KERNEL by_lane(float* a, float* b) {
    float* const mine = reinterpret_cast<float*>(__shfl_xor_sync(~0u, reinterpret_cast<unsigned long>(threadIdx.x & 1 ? a : b), 1));
    *mine = 1;
}

struct Lists {
    float* from[110];
    float* to[110];
    int sizes[110];
    unsigned char list_of_block[320];
    int part_of_block[320];
};

// load [any], store [any]: each block has a part of one of many arrays
KERNEL by_lists(const __grid_constant__ Lists lists, int part) {
    const int list = lists.list_of_block[blockIdx.x];
    const int begin = lists.part_of_block[blockIdx.x] * part;
    for (int i = static_cast<int>(threadIdx.x); i < part && begin + i < lists.sizes[list]; i += static_cast<int>(blockDim.x))
        lists.to[list][begin + i] = 2 * lists.from[list][begin + i];
}

// store unknown: a distance that an index chooses
KERNEL by_distances(const __grid_constant__ Table table, char* base, int which) { base[table.of[which] - table.of[0]] = 1; }

// load [0], store [1]: behind a check, whose function returns or does not
KERNEL checked(const float* in, float* out, float limit) {
    const unsigned i = thread();
    const float value = in[i];
    assert(value < limit);
    out[i] = value;
}

// loads [0], store [1] (4, 5): a division in 64 bits, a function that is called at two places with other values in the registers
KERNEL divided_twice(const double* in, double* out, unsigned long by) {
    const double value = in[thread()];
    const unsigned long first = clock64() / by;
    const double other = in[thread() + 1];
    const unsigned long second = clock64() / (by + 1);
    out[first + second] = value + other;
}

// loads [0] and [0] (4), store [1] (4): more values than registers, so that addresses lie in the stack for a while
KERNEL __launch_bounds__(1024, 2) spilled(const float* in, float* out, int width) {
    const float* from[12];
    float* to[12];
    float sum[12];
    for (int i = 0; i < 12; ++i) {
        from[i] = in + static_cast<long>(thread() * i) * width;
        to[i] = out + static_cast<long>(thread() ^ i) * width;
        sum[i] = *from[i];
    }
    __syncthreads();
    for (int step = 1; step < width; ++step)
        for (int i = 0; i < 12; ++i) sum[i] = sum[i] * from[i][step] + sum[(i + 5) % 12];
    __syncthreads();
    for (int i = 0; i < 12; ++i) *to[i] = sum[i];
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
struct alignas(64) Map {
    unsigned long words[16];
};
struct Maps {
    long before[5];
    Map maps[2];
    int which;
};

__device__ __forceinline__ void copy_tile(void* to, const Map* map, int row, unsigned long* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%3];" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(map), "r"(row), "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
                 : "memory");
}

// tensor copies: maps among the parameters
KERNEL tensors(const __grid_constant__ Maps maps, int rows) {
    __shared__ alignas(128) char tile[1024];
    __shared__ unsigned long barrier;
    copy_tile(tile, maps.which ? &maps.maps[0] : &maps.maps[1], 0, &barrier);
    for (int i = 0; i < rows; ++i) copy_tile(tile, maps.maps + i, i, &barrier);
}

// tensor copy unknown: the map is in memory
KERNEL tensor_in_memory(const Map* maps) {
    __shared__ alignas(128) char tile[1024];
    __shared__ unsigned long barrier;
    copy_tile(tile, maps + blockIdx.x, 0, &barrier);
}
#endif

struct Modes {
    float* data;
    float* const* list;
    long stride;
    int mode;
    unsigned flags;
};

// store [0] (4, 5), or unknown in launches of mode 3: where the pointer comes from is said by a parameter
KERNEL by_mode(Modes modes) {
    float* data = modes.data;
    if (modes.mode == 2) data += blockIdx.y * modes.stride;
    if (modes.mode == 3) data = modes.list[blockIdx.y];
    data[thread()] = 1;
}

// store [0], or unknown in launches with a list
KERNEL by_list(Modes modes) { (modes.list ? modes.list[blockIdx.y] : modes.data)[thread()] = 1; }

// store [0], or unknown in launches with that flag
KERNEL by_flag(Modes modes) {
    float* data = modes.data;
    if (modes.flags & 8) data = modes.list[blockIdx.y];
    data[thread()] = 1;
}

__device__ __forceinline__ float worked(float value, int rounds) {
    for (int i = 0; i < rounds; ++i) value = value * value + static_cast<float>(i);
    return value;
}

// store [0], or unknown in launches of mode 7: behind a switch, which is an indirect branch
KERNEL by_switch(Modes modes, const float* in, int rounds) {
    float* data = modes.data;
    float value = in[thread()];
    switch (modes.flags) {
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
            value = in[thread() + 1] + 2;
            break;
        default:
            break;
    }
    if (modes.mode == 7) data = modes.list[blockIdx.y];
    data[thread()] = value;
}

// store unknown: what decides is in memory
KERNEL by_loaded_mode(Modes modes, const int* mode) { (*mode == 3 ? modes.list[blockIdx.y] : modes.data)[thread()] = 1; }

// store unknown: what decides differs by block
KERNEL by_mode_of_block(Modes modes) { (modes.mode + blockIdx.z == 3 ? modes.list[blockIdx.y] : modes.data)[thread()] = 1; }

// What a tensor has fewer of is not filled in: whatever was there stays.
struct Strides {
    float* data;
    int dimensions;
    int sizes[4];
    int strides[4];
};

// store [0] (2 to 10, and of those what a launch reads): as many strides as there are dimensions
KERNEL by_dimensions(Strides tensor) {
    int left = thread();
    int at = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        if (k == tensor.dimensions) break;
        const int rest = left / tensor.sizes[k];
        at += (left - rest * tensor.sizes[k]) * tensor.strides[k];
        left = rest;
    }
    tensor.data[at] = 1;
}
