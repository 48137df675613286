// The functions injected before memory instructions. What keeps them cheap, and how to check that they still are, is in README.md.
//
// No __global__ in this file: ptxas refuses kernels with the options that injected functions need.
#include "probe/bulk.cuh"
#include "probe/pack.cuh"
#include "probe/single.cuh"
#include "probe/waits.cuh"

using namespace snoopie;

// Probes come in four kinds: snoopie_count_… count, snoopie_record_… also record, snoopie_select_… do as much in the selected blocks only,
// and snoopie_time_… do that with WAITS=on and note when.
//
//   registers   the address as the two registers of a pair and an immediate: cheaper than NVBit's own address argument
//   address     as NVBit computes it, for every other form of operand
//   source      of a copy into shared memory of which a lane reads its source only if a predicate holds. Where it asks fewer bytes than the
//               instruction copies, its address lies that many behind the source's. source_address gets the address from NVBit.
//   packP       of several accesses to P different pairs of registers; see probe_packing.h
#define SNOOPIE_PROBES(Kind, kind)                                                                                                         \
    extern "C" __device__ __noinline__ void snoopie_##kind##_registers(int executes, uint32_t low, uint32_t high, int immediate,           \
                                                                       uint32_t site_word, uint64_t state, uint64_t launch) {              \
        const uint64_t address = (static_cast<uint64_t>(high) << 32 | low) + static_cast<int64_t>(immediate);                              \
        probe<Kind>(executes, address, site_word, state, launch);                                                                          \
    }                                                                                                                                      \
    extern "C" __device__ __noinline__ void snoopie_##kind##_address(int executes, uint64_t address, uint32_t site_word, uint64_t state,   \
                                                                     uint64_t launch) {                                                    \
        probe<Kind>(executes, address, site_word, state, launch);                                                                          \
    }                                                                                                                                      \
    __device__ __forceinline__ void kind##_source(int executes, int predicate, int negated, uint64_t address, uint32_t site_word,          \
                                                  uint64_t state, uint64_t launch) {                                                       \
        const bool reads = (predicate != 0) != (negated != 0);                                                                             \
        probe<Kind>(executes && reads, address & ~static_cast<uint64_t>(site_width(site_word) - 1), site_word, state, launch);             \
    }                                                                                                                                      \
    extern "C" __device__ __noinline__ void snoopie_##kind##_source(int executes, int predicate, int negated, uint32_t low, uint32_t high, \
                                                                    int immediate, uint32_t site_word, uint64_t state, uint64_t launch) {  \
        const uint64_t address = (static_cast<uint64_t>(high) << 32 | low) + static_cast<int64_t>(immediate);                              \
        kind##_source(executes, predicate, negated, address, site_word, state, launch);                                                    \
    }                                                                                                                                      \
    extern "C" __device__ __noinline__ void snoopie_##kind##_source_address(int executes, int predicate, int negated, uint64_t address,    \
                                                                            uint32_t site_word, uint64_t state, uint64_t launch) {         \
        kind##_source(executes, predicate, negated, address, site_word, state, launch);                                                    \
    }
SNOOPIE_PROBES(Counting, count)
SNOOPIE_PROBES(Recording, record)
SNOOPIE_PROBES(Selecting, select)
SNOOPIE_PROBES(Timing, time)

// Registers 4 to 15 take the first twelve words of parameters, the stack the rest: only of packs of four, and only what is wanted rarely.
#define SNOOPIE_PACKS(Kind, kind)                                                                                                    \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack1(int guard, uint32_t word, uint64_t state, uint32_t low0,          \
                                                                   uint32_t high0, uint64_t launch) {                                \
        const uint32_t pairs[] = {low0, high0};                                                                                      \
        probe_pack<Kind, 1>(state, word, guard, launch, pairs);                                                                      \
    }                                                                                                                                \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack2(int guard, uint32_t word, uint64_t state, uint32_t low0,          \
                                                                   uint32_t high0, uint32_t low1, uint32_t high1, uint64_t launch) { \
        const uint32_t pairs[] = {low0, high0, low1, high1};                                                                         \
        probe_pack<Kind, 2>(state, word, guard, launch, pairs);                                                                      \
    }                                                                                                                                \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack3(int guard, uint32_t word, uint64_t state, uint32_t low0,          \
                                                                   uint32_t high0, uint32_t low1, uint32_t high1, uint32_t low2,     \
                                                                   uint32_t high2, uint64_t launch) {                                \
        const uint32_t pairs[] = {low0, high0, low1, high1, low2, high2};                                                            \
        probe_pack<Kind, 3>(state, word, guard, launch, pairs);                                                                      \
    }                                                                                                                                \
    extern "C" __device__ __noinline__ void snoopie_##kind##_pack4(int guard, uint32_t word, uint64_t state, uint32_t low0,          \
                                                                   uint32_t high0, uint32_t low1, uint32_t high1, uint32_t low2,     \
                                                                   uint32_t high2, uint32_t low3, uint32_t high3, uint64_t launch) { \
        const uint32_t pairs[] = {low0, high0, low1, high1, low2, high2, low3, high3};                                               \
        probe_pack<Kind, 4>(state, word, guard, launch, pairs);                                                                      \
    }
SNOOPIE_PACKS(Counting, count)
SNOOPIE_PACKS(Recording, record)
SNOOPIE_PACKS(Selecting, select)
SNOOPIE_PACKS(Timing, time)

// The first two count and record, the third counts; all of them in the selected blocks only.
#define SNOOPIE_COPIES(P, kind)                                                                                                            \
    extern "C" __device__ __noinline__ void snoopie_##kind##_bulk(int executes, uint32_t low, uint32_t high, uint32_t size,                \
                                                                  uint32_t site_word, uint64_t state, uint64_t launch) {                   \
        bulk_copy<P>(executes, low, high, size, site_word, state, launch);                                                                 \
    }                                                                                                                                      \
    extern "C" __device__ __noinline__ void snoopie_##kind##_tensor(int executes, uint32_t low, uint32_t high, int c0, int c1, int c2,     \
                                                                    int c3, int c4, uint32_t site_word, uint64_t state, uint64_t launch) { \
        tensor_copy<P>(executes, low, high, c0, c1, c2, c3, c4, site_word, state, launch);                                                 \
    }                                                                                                                                      \
    extern "C" __device__ __noinline__ void snoopie_##kind##_executed(int executes, uint32_t site_word, uint64_t state, uint64_t launch) { \
        executed<P>(executes, site_word, state, launch);                                                                                   \
    }
SNOOPIE_COPIES(Place, probe)
SNOOPIE_COPIES(TimedPlace, time)

// At the loads and at the ends of polling loops, with WAITS=on.
extern "C" __device__ __noinline__ void snoopie_wait_address(int executes, uint64_t address, uint32_t site, uint64_t state,
                                                             uint64_t launch) {
    wait_address(executes, address, site, state, launch);
}

extern "C" __device__ __noinline__ void snoopie_wait_exit(int guard, int predicate, uint32_t flags, uint32_t site, uint64_t state,
                                                          uint64_t launch) {
    wait_exit(guard, predicate, flags, site, state, launch);
}
