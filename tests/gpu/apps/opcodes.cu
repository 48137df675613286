// opcodes: the instructions of sm_90 that compilers choose seldom, GPU 0 on far memory (far_place). Does not run on older GPUs.
//
// 64 threads in one block. A line whose name ends in _W is one instruction that accesses W bytes a lane: thread i those from W i of a slot
// of 1024 bytes, so 2 accesses, 64 lanes and 2 W sectors. One launch of each kernel:
//   loads       loads
//   stores      stores
//   atomics     atomics, their results used
//   halves      half: compare-and-swap of 2 of the 4 bytes of word i: a load and an atomic of 4
//   reductions  reductions; but generic and bfloat162, for which the compiler takes opcodes that can return a value: atomics
//   guarded     guarded: store of 4, for i < 32 and i % 3 != 1, so one warp has no access
//   async       loads into shared memory: async_W; and of 16 from 16 i
//               partial: of which thread i asks 16 bytes (i < 24), 8 (i < 40) or none. The width is the instruction's: who asks 8 has a
//               lane of 16, in the same sector. Who asks none reads nothing: no lane.
//               nothing: of which nobody asks a byte: no access
//   prefetch    prefetches of GPU 1's memory: no access
//
// Bulk copies are issued by one thread. They have one access, lanes are units of 16 bytes, sectors go from the first to the last byte. For
// each of (bytes, offset on GPU 1) = (16, 16), (48, 16), (48, 32), (512, 48), (4096, 0), (4096, 16) one launch of each kernel:
//   fetch       fetch: load, by the thread that elect.sync names
//   put         put: store, by thread 0
//   add         add: reduction of u32, by thread 37, in a branch
// And then:
//   fetch, put, add on GPU 0's own memory, (512, 48): no access
//   fetch_each  each: load of 16 bytes from 32 i, by every thread i < 40 with i % 5 != 4: 32 accesses, lanes and sectors
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "arrays.cuh"
#include "bulk.cuh"

#if __CUDA_ARCH_LIST__ < 900
int main() { return cannot_run("opcodes", "its instructions begin with sm_90"); }
#else

constexpr int kThreads = 64;
constexpr int kSlot = kThreads * 16;  // bytes
constexpr int kLargest = 4096;        // bytes of a bulk copy
constexpr int kArray = 65536;         // bytes

// One instruction each, at the source line where the macro is used. Data are bits, whatever the type.
#define AT(width, slot) "l"(there + (slot) * kSlot + (width) * i)
#define LOAD_1(text, slot) asm volatile(text " %0, [%1];" : "=h"(halves[slot]) : "l"(there + i) : "memory")
#define LOAD_2(text, slot) asm volatile(text " %0, [%1];" : "=h"(halves[slot]) : "l"(there + 2 * i) : "memory")
#define LOAD_4(text, slot) asm volatile(text " %0, [%1];" : "=r"(words[slot].x) : "l"(there + 4 * i) : "memory")
#define LOAD_8(text, slot) asm volatile(text " {%0, %1}, [%2];" : "=r"(words[slot].x), "=r"(words[slot].y) : "l"(there + 8 * i) : "memory")
#define LOAD_16(text, slot)                                                                           \
    asm volatile(text " {%0, %1, %2, %3}, [%4];"                                                      \
                 : "=r"(words[slot].x), "=r"(words[slot].y), "=r"(words[slot].z), "=r"(words[slot].w) \
                 : "l"(there + 16 * i)                                                                \
                 : "memory")

constexpr int kLoadWidths[] = {1, 1, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 16, 16, 16, 16, 16, 16, 16};
constexpr int kHalves = 4;  // loads of less than 4 bytes
constexpr int kWords = sizeof kLoadWidths / sizeof kLoadWidths[0] - kHalves;

// All read the same slot. Thread i keeps 16 bytes of every load: what it loaded, then zeros.
__global__ void loads(const char* there, uint4* here) {
    const uint32_t i = threadIdx.x;
    uint16_t halves[kHalves] = {};
    uint4 words[kWords] = {};
    LOAD_1("ld.volatile.global.u8", 0);                           // remote: volatile_1
    LOAD_1("ld.global.nc.u8", 1);                                 // remote: readonly_1
    LOAD_2("ld.volatile.global.u16", 2);                          // remote: volatile_2
    LOAD_2("ld.relaxed.sys.global.u16", 3);                       // remote: relaxed_2
    LOAD_4("ld.volatile.global.u32", 0);                          // remote: volatile_4
    LOAD_4("ld.relaxed.sys.global.u32", 1);                       // remote: relaxed_4
    LOAD_4("ld.acquire.sys.global.u32", 2);                       // remote: acquire_4
    LOAD_4("ld.mmio.relaxed.sys.global.u32", 3);                  // remote: mmio_4
    LOAD_4("ld.global.nc.u32", 4);                                // remote: readonly_4
    LOAD_4("ld.global.cs.u32", 5);                                // remote: streaming_4
    LOAD_4("ld.global.cv.u32", 6);                                // remote: uncached_4
    LOAD_4("ld.u32", 7);                                          // remote: generic_4
    LOAD_8("ld.volatile.global.v2.u32", 8);                       // remote: volatile_8
    LOAD_8("ld.acquire.sys.global.v2.u32", 9);                    // remote: acquire_8
    LOAD_8("ld.global.nc.v2.u32", 10);                            // remote: readonly_8
    LOAD_8("ld.v2.u32", 11);                                      // remote: generic_8
    LOAD_16("ld.volatile.global.v4.u32", 12);                     // remote: volatile_16
    LOAD_16("ld.relaxed.sys.global.v4.u32", 13);                  // remote: relaxed_16
    LOAD_16("ld.acquire.sys.global.v4.u32", 14);                  // remote: acquire_16
    LOAD_16("ld.global.nc.v4.u32", 15);                           // remote: readonly_16
    LOAD_16("ld.global.nc.L1::no_allocate.L2::256B.v4.u32", 16);  // remote: streaming_16
    LOAD_16("ld.global.L1::no_allocate.v4.u32", 17);              // remote: uncached_16
    LOAD_16("ld.v4.u32", 18);                                     // remote: generic_16
#pragma unroll
    for (int k = 0; k < kHalves; ++k) here[k * kThreads + i] = make_uint4(halves[k], 0, 0, 0);
#pragma unroll
    for (int k = 0; k < kWords; ++k) here[(kHalves + k) * kThreads + i] = words[k];
}

#define STORE_1(text, slot) asm volatile(text " [%0], %1;" ::AT(1, slot), "h"(uint16_t(value.x)) : "memory")
#define STORE_2(text, slot) asm volatile(text " [%0], %1;" ::AT(2, slot), "h"(uint16_t(value.x)) : "memory")
#define STORE_4(text, slot) asm volatile(text " [%0], %1;" ::AT(4, slot), "r"(value.x) : "memory")
#define STORE_8(text, slot) asm volatile(text " [%0], {%1, %2};" ::AT(8, slot), "r"(value.x), "r"(value.y) : "memory")
#define STORE_16(text, slot) \
    asm volatile(text " [%0], {%1, %2, %3, %4};" ::AT(16, slot), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w) : "memory")

constexpr int kStoreWidths[] = {1, 1, 2, 2, 4, 4, 4, 4, 4, 4, 4, 8, 8, 16, 16, 16, 16};

// Thread i stores the first bytes of its 16.
__global__ void stores(char* there, const uint4* here) {
    const uint32_t i = threadIdx.x;
    const uint4 value = here[i];
    STORE_1("st.volatile.global.u8", 0);           // remote: volatile_1
    STORE_1("st.u8", 1);                           // remote: generic_1
    STORE_2("st.volatile.global.u16", 2);          // remote: volatile_2
    STORE_2("st.release.sys.global.u16", 3);       // remote: release_2
    STORE_4("st.volatile.global.u32", 4);          // remote: volatile_4
    STORE_4("st.relaxed.sys.global.u32", 5);       // remote: relaxed_4
    STORE_4("st.release.sys.global.u32", 6);       // remote: release_4
    STORE_4("st.mmio.relaxed.sys.global.u32", 7);  // remote: mmio_4
    STORE_4("st.global.cs.u32", 8);                // remote: streaming_4
    STORE_4("st.global.L1::no_allocate.u32", 9);   // remote: uncached_4
    STORE_4("st.u32", 10);                         // remote: generic_4
    STORE_8("st.volatile.global.v2.u32", 11);      // remote: volatile_8
    STORE_8("st.v2.u32", 12);                      // remote: generic_8
    STORE_16("st.volatile.global.v4.u32", 13);     // remote: volatile_16
    STORE_16("st.release.sys.global.v4.u32", 14);  // remote: release_16
    STORE_16("st.global.cs.v4.u32", 15);           // remote: streaming_16
    STORE_16("st.v4.u32", 16);                     // remote: generic_16
}

// The number 1 + i % 8 as the bits of every type.
struct Bits {
    uint32_t whole, minus, single, half2, brain2;
    uint16_t half, brain;
    uint64_t wide, twice;
};

__device__ Bits bits_of(uint32_t i) {
    const uint32_t x = 1 + i % 8;
    Bits bits;
    bits.whole = x;
    bits.minus = -x;
    bits.single = __float_as_uint(float(x));
    bits.half = __half_as_ushort(__float2half_rn(float(x)));
    bits.brain = __bfloat16_as_ushort(__float2bfloat16_rn(float(x)));
    bits.half2 = bits.half * 0x10001u;
    bits.brain2 = bits.brain * 0x10001u;
    bits.wide = x;
    bits.twice = __double_as_longlong(double(x));
    return bits;
}

// What an atomic makes of zeros: the same number in every component of an element. `none`: it leaves them zero;
// `one`: the number is a limit, and they become 1.
enum class Type { none, one, u32, s32, u64, f16, bf16, f32, f64 };
struct Change {
    int width;  // of an element
    Type type;  // of a component; s32 is the number's negative
};

#define OLD(slot) "=r"(old[slot].x), "=r"(old[slot].y), "=r"(old[slot].z), "=r"(old[slot].w)
#define ATOMIC_4(text, slot, bits) asm volatile(text " %0, [%1], %2;" : "=r"(old[slot].x) : AT(4, slot), "r"(bits) : "memory")
#define ATOMIC_8(text, slot, bits)                                           \
    asm volatile("{.reg .b64 o; " text " o, [%2], %3; mov.b64 {%0, %1}, o;}" \
                 : "=r"(old[slot].x), "=r"(old[slot].y)                      \
                 : AT(8, slot), "l"(bits)                                    \
                 : "memory")
#define ATOMIC_2X4(text, slot, bits) \
    asm volatile(text " {%0, %1}, [%2], {%3, %3};" : "=r"(old[slot].x), "=r"(old[slot].y) : AT(8, slot), "r"(bits) : "memory")
#define ATOMIC_4X4(text, slot, bits) \
    asm volatile(text " {%0, %1, %2, %3}, [%4], {%5, %5, %5, %5};" : OLD(slot) : AT(16, slot), "r"(bits) : "memory")
#define ATOMIC_8X2(text, slot, bits)                                                                        \
    asm volatile("{.reg .b16 o<8>; " text                                                                   \
                 " {o0, o1, o2, o3, o4, o5, o6, o7}, [%4], {%5, %5, %5, %5, %5, %5, %5, %5};"               \
                 "mov.b32 %0, {o0, o1}; mov.b32 %1, {o2, o3}; mov.b32 %2, {o4, o5}; mov.b32 %3, {o6, o7};}" \
                 : OLD(slot)                                                                                \
                 : AT(16, slot), "h"(bits)                                                                  \
                 : "memory")
#define EXCHANGE_16(text, slot, bits)                                            \
    asm volatile("{.reg .b128 o, n; .reg .b64 l, h; mov.b128 n, {%5, %5}; " text \
                 " o, [%4], n; mov.b128 {l, h}, o;"                              \
                 "mov.b64 {%0, %1}, l; mov.b64 {%2, %3}, h;}"                    \
                 : OLD(slot)                                                     \
                 : AT(16, slot), "l"(bits)                                       \
                 : "memory")
// Compare with zero.
#define SWAP_4(text, slot, bits) asm volatile(text " %0, [%1], %2, %3;" : "=r"(old[slot].x) : AT(4, slot), "r"(0), "r"(bits) : "memory")
#define SWAP_8(text, slot, bits)                                                 \
    asm volatile("{.reg .b64 o; " text " o, [%2], %3, %4; mov.b64 {%0, %1}, o;}" \
                 : "=r"(old[slot].x), "=r"(old[slot].y)                          \
                 : AT(8, slot), "l"(0ull), "l"(bits)                             \
                 : "memory")
#define SWAP_16(text, slot, bits)                                                                         \
    asm volatile("{.reg .b128 o, n, z; .reg .b64 l, h; mov.b128 n, {%5, %5}; mov.b128 z, {%6, %6}; " text \
                 " o, [%4], z, n;"                                                                        \
                 "mov.b128 {l, h}, o; mov.b64 {%0, %1}, l; mov.b64 {%2, %3}, h;}"                         \
                 : OLD(slot)                                                                              \
                 : AT(16, slot), "l"(bits), "l"(0ull)                                                     \
                 : "memory")

constexpr Change kAtomics[] = {
    {4, Type::u32}, {4, Type::u32},  {8, Type::u64},  {4, Type::f32},  {8, Type::f64},  {4, Type::f16},   {4, Type::bf16},
    {8, Type::f32}, {16, Type::f32}, {8, Type::f16},  {16, Type::f16}, {16, Type::f16}, {16, Type::bf16}, {4, Type::s32},
    {4, Type::u32}, {8, Type::u64},  {4, Type::none}, {8, Type::u64},  {4, Type::u32},  {4, Type::one},   {4, Type::u32},
    {4, Type::u32}, {4, Type::u32},  {8, Type::u64},  {16, Type::u64}, {4, Type::u32},  {8, Type::u64},   {16, Type::u64},
};
constexpr int kAtomicSlots = sizeof kAtomics / sizeof kAtomics[0];

// The bits of all old values, which are zeros, into `seen`.
__global__ void atomics(char* there, uint32_t* seen) {
    const uint32_t i = threadIdx.x;
    const Bits bits = bits_of(i);
    uint4 old[kAtomicSlots] = {};
    ATOMIC_4("atom.global.add.u32", 0, bits.whole);                  // remote: add_u32_4
    ATOMIC_4("atom.acq_rel.sys.global.add.u32", 1, bits.whole);      // remote: add_sys_4
    ATOMIC_8("atom.global.add.u64", 2, bits.wide);                   // remote: add_u64_8
    ATOMIC_4("atom.global.add.f32", 3, bits.single);                 // remote: add_f32_4
    ATOMIC_8("atom.global.add.f64", 4, bits.twice);                  // remote: add_f64_8
    ATOMIC_4("atom.global.add.noftz.f16x2", 5, bits.half2);          // remote: add_f16x2_4
    ATOMIC_4("atom.global.add.noftz.bf16x2", 6, bits.brain2);        // remote: add_bf16x2_4
    ATOMIC_2X4("atom.global.add.v2.f32", 7, bits.single);            // remote: add_v2_f32_8
    ATOMIC_4X4("atom.global.add.v4.f32", 8, bits.single);            // remote: add_v4_f32_16
    ATOMIC_2X4("atom.global.add.noftz.v2.f16x2", 9, bits.half2);     // remote: add_v2_f16x2_8
    ATOMIC_4X4("atom.global.add.noftz.v4.f16x2", 10, bits.half2);    // remote: add_v4_f16x2_16
    ATOMIC_8X2("atom.global.add.noftz.v8.f16", 11, bits.half);       // remote: add_v8_f16_16
    ATOMIC_4X4("atom.global.max.noftz.v4.bf16x2", 12, bits.brain2);  // remote: max_v4_bf16x2_16
    ATOMIC_4("atom.relaxed.sys.global.min.s32", 13, bits.minus);     // remote: min_s32_4
    ATOMIC_4("atom.global.max.u32", 14, bits.whole);                 // remote: max_u32_4
    ATOMIC_8("atom.global.max.s64", 15, bits.wide);                  // remote: max_s64_8
    ATOMIC_4("atom.global.and.b32", 16, bits.whole);                 // remote: and_4
    ATOMIC_8("atom.global.or.b64", 17, bits.wide);                   // remote: or_8
    ATOMIC_4("atom.global.xor.b32", 18, bits.whole);                 // remote: xor_4
    ATOMIC_4("atom.global.inc.u32", 19, bits.whole);                 // remote: inc_4
    ATOMIC_4("atom.global.dec.u32", 20, bits.whole);                 // remote: dec_4
    ATOMIC_4("atom.global.exch.b32", 21, bits.whole);                // remote: exchange_4
    ATOMIC_4("atom.exch.b32", 22, bits.whole);                       // remote: generic_4
    ATOMIC_8("atom.global.exch.b64", 23, bits.wide);                 // remote: exchange_8
    EXCHANGE_16("atom.global.exch.b128", 24, bits.wide);             // remote: exchange_16
    SWAP_4("atom.relaxed.sys.global.cas.b32", 25, bits.whole);       // remote: swap_4
    SWAP_8("atom.global.cas.b64", 26, bits.wide);                    // remote: swap_8
    SWAP_16("atom.global.cas.b128", 27, bits.wide);                  // remote: swap_16
    uint32_t any = 0;
#pragma unroll
    for (int k = 0; k < kAtomicSlots; ++k) any |= old[k].x | old[k].y | old[k].z | old[k].w;
    seen[i] = any;
}

// There is no instruction for it: a loop of a load and a compare-and-swap of the whole word, once round where nobody interferes.
__global__ void halves(uint32_t* there, uint32_t* seen) {
    const uint32_t i = threadIdx.x;
    const uint16_t zero = 0, value = 1 + i;
    uint16_t old;
    asm volatile("atom.global.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "l"(there + i), "h"(zero), "h"(value) : "memory");  // remote: half
    seen[i] = old;
}

#define REDUCE_4(text, slot, bits) asm volatile(text " [%0], %1;" ::AT(4, slot), "r"(bits) : "memory")
#define REDUCE_8(text, slot, bits) asm volatile(text " [%0], %1;" ::AT(8, slot), "l"(bits) : "memory")
#define REDUCE_2X4(text, slot, bits) asm volatile(text " [%0], {%1, %1};" ::AT(8, slot), "r"(bits) : "memory")
#define REDUCE_4X4(text, slot, bits) asm volatile(text " [%0], {%1, %1, %1, %1};" ::AT(16, slot), "r"(bits) : "memory")
#define REDUCE_4X2(text, slot, bits) asm volatile(text " [%0], {%1, %1, %1, %1};" ::AT(8, slot), "h"(bits) : "memory")
#define REDUCE_8X2(text, slot, bits) asm volatile(text " [%0], {%1, %1, %1, %1, %1, %1, %1, %1};" ::AT(16, slot), "h"(bits) : "memory")

constexpr Change kReductions[] = {
    {4, Type::u32},  {4, Type::u32}, {8, Type::u64},  {4, Type::f32},  {8, Type::f64},   {4, Type::f16},  {4, Type::bf16}, {8, Type::f32},
    {16, Type::f32}, {8, Type::f16}, {16, Type::f16}, {8, Type::bf16}, {16, Type::bf16}, {16, Type::f16}, {4, Type::s32},  {8, Type::u64},
    {4, Type::none}, {4, Type::u32}, {8, Type::u64},  {4, Type::u32},  {4, Type::u32},   {8, Type::f32},  {4, Type::bf16},
};

__global__ void reductions(char* there) {
    const uint32_t i = threadIdx.x;
    const Bits bits = bits_of(i);
    REDUCE_4("red.relaxed.sys.global.add.u32", 0, bits.whole);        // remote: add_u32_4
    REDUCE_4("red.release.gpu.global.add.u32", 1, bits.whole);        // remote: add_release_4
    REDUCE_8("red.global.add.u64", 2, bits.wide);                     // remote: add_u64_8
    REDUCE_4("red.global.add.f32", 3, bits.single);                   // remote: add_f32_4
    REDUCE_8("red.global.add.f64", 4, bits.twice);                    // remote: add_f64_8
    REDUCE_4("red.global.add.noftz.f16x2", 5, bits.half2);            // remote: add_f16x2_4
    REDUCE_4("red.global.add.noftz.bf16x2", 6, bits.brain2);          // remote: add_bf16x2_4
    REDUCE_2X4("red.global.add.v2.f32", 7, bits.single);              // remote: add_v2_f32_8
    REDUCE_4X4("red.relaxed.sys.global.add.v4.f32", 8, bits.single);  // remote: add_v4_f32_16
    REDUCE_4X2("red.global.add.noftz.v4.f16", 9, bits.half);          // remote: add_v4_f16_8
    REDUCE_4X4("red.global.add.noftz.v4.f16x2", 10, bits.half2);      // remote: add_v4_f16x2_16
    REDUCE_2X4("red.global.add.noftz.v2.bf16x2", 11, bits.brain2);    // remote: add_v2_bf16x2_8
    REDUCE_8X2("red.global.add.noftz.v8.bf16", 12, bits.brain);       // remote: add_v8_bf16_16
    REDUCE_8X2("red.global.max.noftz.v8.f16", 13, bits.half);         // remote: max_v8_f16_16
    REDUCE_4("red.global.min.s32", 14, bits.minus);                   // remote: min_s32_4
    REDUCE_8("red.global.max.u64", 15, bits.wide);                    // remote: max_u64_8
    REDUCE_4("red.global.and.b32", 16, bits.whole);                   // remote: and_4
    REDUCE_4("red.global.or.b32", 17, bits.whole);                    // remote: or_4
    REDUCE_8("red.global.xor.b64", 18, bits.wide);                    // remote: xor_8
    REDUCE_4("red.global.dec.u32", 19, bits.whole);                   // remote: dec_4
    REDUCE_4("red.or.b32", 20, bits.whole);                           // remote: generic_4
    const float x = __uint_as_float(bits.single);
    atomicAdd(reinterpret_cast<float2*>(there + 21 * kSlot) + i, make_float2(x, x));                    // remote: float2_8
    atomicAdd(reinterpret_cast<__nv_bfloat162*>(there + 22 * kSlot) + i, __floats2bfloat162_rn(x, x));  // remote: bfloat162_4
}

#define STORE_IF(on, address, value) \
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p st.global.u32 [%0], %1;}" ::"l"(address), "r"(value), "r"(on) : "memory")

__global__ void guarded(uint32_t* there, uint32_t* here) {
    const uint32_t i = threadIdx.x;
    const uint32_t on = i < 32 && i % 3 != 1;
    STORE_IF(on, there + i, i);  // remote: guarded
    here[i] = on;                // so that the others do not simply end before the store
}

#define ASYNC(text, width, slot) asm volatile(text ";" ::"r"(in_shared(shared[slot]) + (width) * i), "l"(there + (width) * i) : "memory")
#define ASYNC_SOME(text, slot, asked) \
    asm volatile(text ";" ::"r"(in_shared(shared[slot]) + 16 * i), "l"(there + 16 * i), "r"(asked) : "memory")

constexpr int kAsyncs = 6;
constexpr int kAsyncWidths[kAsyncs] = {4, 8, 16, 16, 16, 16};
constexpr int kPartial = 4, kNothing = 5;
__host__ __device__ uint32_t asked_by(uint32_t i) { return i < 24 ? 16 : i < 40 ? 8 : 0; }

__global__ void async(const char* there, uint4* here) {
    __shared__ uint4 shared[kAsyncs][kThreads];
    const uint32_t i = threadIdx.x;
    for (int k = 0; k < kAsyncs; ++k) shared[k][i] = make_uint4(~0u, ~0u, ~0u, ~0u);
    __syncthreads();
    ASYNC("cp.async.ca.shared.global [%0], [%1], 4", 4, 0);                             // remote: async_4
    ASYNC("cp.async.ca.shared.global [%0], [%1], 8", 8, 1);                             // remote: async_8
    ASYNC("cp.async.ca.shared.global [%0], [%1], 16", 16, 2);                           // remote: async_16
    ASYNC("cp.async.cg.shared.global.L2::128B [%0], [%1], 16", 16, 3);                  // remote: past_16
    ASYNC_SOME("cp.async.cg.shared.global [%0], [%1], 16, %2", kPartial, asked_by(i));  // remote: partial
    ASYNC("cp.async.ca.shared.global [%0], [%1], 16, 0", 16, kNothing);                 // remote: nothing
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < kAsyncs; ++k) here[k * kThreads + i] = shared[k][i];
}

__global__ void prefetch(const char* there) {
    const uint32_t i = threadIdx.x;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(there + 32 * i));                                                 // remote: lines
    asm volatile("prefetch.global.L1 [%0];" ::"l"(there + 32 * i));                                                 // remote: lines
    if (i == 0) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(there), "r"(kLargest) : "memory");  // remote: bytes
}

// One thread of a warp that is whole.
__device__ bool elected() {
    uint32_t is = 0;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p;}" : "=r"(is));
    return is;
}

__device__ void fetch_bulk(void* to, const void* from, uint32_t bytes, uint64_t* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(in_shared(to)), "l"(from),
                 "r"(bytes), "r"(in_shared(barrier))
                 : "memory");
}

__device__ void put_bulk(void* to, const void* from, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(in_shared(from)), "r"(bytes) : "memory");
}

__device__ void add_bulk(void* to, const void* from, uint32_t bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to), "r"(in_shared(from)), "r"(bytes)
                 : "memory");
}

__global__ void fetch(const char* there, char* here, uint32_t bytes) {
    __shared__ alignas(128) char shared[kLargest];
    __shared__ uint64_t barrier;
    const uint32_t i = threadIdx.x;
    if (i == 0) begin_barrier(&barrier);
    __syncthreads();
    if (i < 32 && elected()) {
        expect_bytes(&barrier, bytes);
        fetch_bulk(shared, there, bytes, &barrier);  // remote: fetch
    }
    wait_for_bytes(&barrier);
    for (uint32_t k = i; k < bytes; k += kThreads) here[k] = shared[k];
}

__global__ void fetch_each(const char* there, char* here) {
    __shared__ alignas(128) char shared[16 * kThreads];
    __shared__ uint64_t barrier;
    const uint32_t i = threadIdx.x;
    if (i == 0) {
        begin_barrier(&barrier);
        expect_bytes(&barrier, 16 * 32);
    }
    __syncthreads();
    const bool takes_part = i < 40 && i % 5 != 4;
    if (takes_part) fetch_bulk(shared + 16 * i, there + 32 * i, 16, &barrier);  // remote: each
    wait_for_bytes(&barrier);
    if (takes_part)
        for (uint32_t k = 16 * i; k < 16 * i + 16; ++k) here[k] = shared[k];
}

__global__ void put(char* there, const char* here, uint32_t bytes) {
    __shared__ alignas(128) char shared[kLargest];
    for (uint32_t k = threadIdx.x; k < bytes; k += kThreads) shared[k] = here[k];
    show_to_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
        put_bulk(there, shared, bytes);  // remote: put
        wait_until_written();
    }
}

__global__ void add(char* there, const char* here, uint32_t bytes) {
    __shared__ alignas(128) char shared[kLargest];
    for (uint32_t k = threadIdx.x; k < bytes; k += kThreads) shared[k] = here[k];
    show_to_copies();
    __syncthreads();
    if (threadIdx.x == 37) {
        add_bulk(there, shared, bytes);  // remote: add
        wait_until_written();
    }
}

bool all_right = true;

void expect(const char* name, bool right) {
    std::printf("%s: %s\n", name, right ? "right" : "wrong");
    all_right = all_right && right;
}

template <typename T>
void append(std::vector<unsigned char>* bytes, T value) {
    const auto* first = reinterpret_cast<const unsigned char*>(&value);
    bytes->insert(bytes->end(), first, first + sizeof value);
}

// The element of thread i after the change.
std::vector<unsigned char> changed(const Change& change, uint32_t i) {
    const uint32_t x = 1 + i % 8;
    std::vector<unsigned char> element;
    while (element.size() < size_t(change.width)) switch (change.type) {
            case Type::none:
                append(&element, uint32_t(0));
                break;
            case Type::one:
                append(&element, uint32_t(1));
                break;
            case Type::u32:
                append(&element, x);
                break;
            case Type::s32:
                append(&element, -x);
                break;
            case Type::u64:
                append(&element, uint64_t(x));
                break;
            case Type::f16:
                append(&element, __float2half_rn(float(x)));
                break;
            case Type::bf16:
                append(&element, __float2bfloat16_rn(float(x)));
                break;
            case Type::f32:
                append(&element, float(x));
                break;
            case Type::f64:
                append(&element, double(x));
                break;
        }
    return element;
}

template <size_t slots>
bool all_changed(const Array& array, const Change (&changes)[slots]) {
    const auto bytes = array.read<unsigned char>();
    bool right = true;
    for (size_t slot = 0; slot < slots; ++slot)
        for (uint32_t i = 0; i < kThreads; ++i) {
            const auto element = changed(changes[slot], i);
            right = right && !std::memcmp(&bytes[slot * kSlot + element.size() * i], element.data(), element.size());
        }
    return right;
}

int main() {
    const int far = far_place("opcodes");
    std::vector<unsigned char> pattern(kArray);
    for (size_t k = 0; k < pattern.size(); ++k) pattern[k] = k * 7 + k / 256 + 1;
    const Array source(far, kArray), own(0, kArray);
    source.write(pattern);
    own.write(pattern);
    // Whether 16 bytes are `width` ones of the pattern from `from` on, and then zeros.
    const auto begins = [&](const unsigned char* sixteen, size_t from, size_t width) {
        const unsigned char zeros[16] = {};
        return !std::memcmp(sixteen, &pattern[from], width) && !std::memcmp(sixteen + width, zeros, 16 - width);
    };

    const Array loaded(0, kArray);
    loads<<<1, kThreads>>>(source, loaded);
    CHECK(cudaGetLastError());
    auto bytes = loaded.read<unsigned char>();
    bool right = true;
    for (int k = 0; k < kHalves + kWords; ++k)
        for (int i = 0; i < kThreads; ++i) right = right && begins(&bytes[kSlot * k + 16 * i], kLoadWidths[k] * i, kLoadWidths[k]);
    expect("loads", right);

    const Array stored(far, kArray);
    stores<<<1, kThreads>>>(stored, own);
    CHECK(cudaGetLastError());
    bytes = stored.read<unsigned char>();
    right = true;
    for (size_t k = 0; k < sizeof kStoreWidths / sizeof kStoreWidths[0]; ++k)
        for (int i = 0; i < kThreads; ++i)
            right = right && !std::memcmp(&bytes[kSlot * k + kStoreWidths[k] * i], &pattern[16 * i], kStoreWidths[k]);
    expect("stores", right);

    const Array changed_there(far, kArray), seen(0);
    atomics<<<1, kThreads>>>(changed_there, seen);
    CHECK(cudaGetLastError());
    right = all_changed(changed_there, kAtomics);
    for (const uint32_t old : seen.read<uint32_t>()) right = right && old == 0;
    expect("atomics", right);

    const Array swapped(far), swapped_seen(0);
    halves<<<1, kThreads>>>(swapped, swapped_seen);
    CHECK(cudaGetLastError());
    auto words = swapped.read<uint32_t>();
    right = true;
    for (uint32_t i = 0; i < kThreads; ++i) right = right && words[i] == 1 + i;
    for (const uint32_t old : swapped_seen.read<uint32_t>()) right = right && old == 0;
    expect("halves", right);

    const Array reduced(far, kArray);
    reductions<<<1, kThreads>>>(reduced);
    CHECK(cudaGetLastError());
    expect("reductions", all_changed(reduced, kReductions));

    const Array some(far), told(0);
    guarded<<<1, kThreads>>>(some, told);
    CHECK(cudaGetLastError());
    words = some.read<uint32_t>();
    right = true;
    for (uint32_t i = 0; i < kThreads; ++i) right = right && words[i] == (i < 32 && i % 3 != 1 ? i : 0);
    words = told.read<uint32_t>();
    for (uint32_t i = 0; i < kThreads; ++i) right = right && words[i] == (i < 32 && i % 3 != 1);
    expect("guarded", right);

    const Array copied(0, kArray);
    async<<<1, kThreads>>>(source, copied);
    CHECK(cudaGetLastError());
    bytes = copied.read<unsigned char>();
    right = true;
    for (int k = 0; k < kAsyncs; ++k)
        for (int i = 0; i < kThreads; ++i) {
            const unsigned char* element = &bytes[kSlot * k + kAsyncWidths[k] * i];
            if (k == kPartial || k == kNothing)
                right = right && begins(element, 16 * i, k == kPartial ? asked_by(i) : 0);
            else
                right = right && !std::memcmp(element, &pattern[kAsyncWidths[k] * i], kAsyncWidths[k]);
        }
    expect("async", right);

    prefetch<<<1, kThreads>>>(source);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    const struct {
        uint32_t bytes, offset;
    } bulks[] = {{16, 16}, {48, 16}, {48, 32}, {512, 48}, {4096, 0}, {4096, 16}};
    // Fetches, puts and adds between `offset` of an array of `owner` and GPU 0's own memory.
    const auto copy_bulk = [&](int owner, uint32_t size, uint32_t offset) {
        const Array fetched(0), there(owner);
        fetch<<<1, kThreads>>>(static_cast<char*>(owner ? source : own) + offset, fetched, size);
        CHECK(cudaGetLastError());
        const bool all_fetched = !std::memcmp(fetched.read<unsigned char>().data(), &pattern[offset], size);
        put<<<1, kThreads>>>(static_cast<char*>(there) + offset, own, size);
        CHECK(cudaGetLastError());
        const auto after_put = there.read<unsigned char>();
        add<<<1, kThreads>>>(static_cast<char*>(there) + offset, own, size);
        CHECK(cudaGetLastError());
        const auto after_add = there.read<uint32_t>();
        std::vector<uint32_t> twice(size / 4);
        std::memcpy(twice.data(), pattern.data(), size);
        for (uint32_t& word : twice) word *= 2;
        const bool all_put = !std::memcmp(&after_put[offset], pattern.data(), size);
        const bool all_added = !std::memcmp(&after_add[offset / 4], twice.data(), size);
        std::printf("place %d, %u bytes at %u: ", owner, size, offset);
        expect("fetched, put, added", all_fetched && all_put && all_added);
    };
    for (const auto& bulk : bulks) copy_bulk(far, bulk.bytes, bulk.offset);
    copy_bulk(0, 512, 48);

    const Array each(0);
    fetch_each<<<1, kThreads>>>(source, each);
    CHECK(cudaGetLastError());
    bytes = each.read<unsigned char>();
    right = true;
    for (int i = 0; i < 40; ++i) right = right && (i % 5 == 4 ? bytes[16 * i] == 0 : begins(&bytes[16 * i], 32 * i, 16));
    expect("fetch_each", right);
    return verdict(all_right);
}
#endif
