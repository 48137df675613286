// Where the thread is in its grid, and whether its block is measured.
#pragma once

#include "probe/probe_logic.h"

namespace snoopie {
namespace {

// A special register of the thread. Read anew each time: kept, it would take a register.
#define SNOOPIE_SPECIAL(name)                                  \
    [] {                                                       \
        uint32_t value;                                        \
        asm volatile("mov.u32 %0, %%" name ";" : "=r"(value)); \
        return value;                                          \
    }()

__device__ __forceinline__ uint64_t linear_block() {
    const uint64_t rows = SNOOPIE_SPECIAL("ctaid.y") + static_cast<uint64_t>(SNOOPIE_SPECIAL("nctaid.y")) * SNOOPIE_SPECIAL("ctaid.z");
    return SNOOPIE_SPECIAL("ctaid.x") + SNOOPIE_SPECIAL("nctaid.x") * rows;
}

__device__ __forceinline__ uint64_t blocks_of_grid() {
    return static_cast<uint64_t>(SNOOPIE_SPECIAL("nctaid.x")) * SNOOPIE_SPECIAL("nctaid.y") * SNOOPIE_SPECIAL("nctaid.z");
}

__device__ __forceinline__ uint8_t warp_of_block() {
    const uint32_t rows = SNOOPIE_SPECIAL("tid.y") + SNOOPIE_SPECIAL("ntid.y") * SNOOPIE_SPECIAL("tid.z");
    return static_cast<uint8_t>((SNOOPIE_SPECIAL("tid.x") + SNOOPIE_SPECIAL("ntid.x") * rows) / 32);
}

__device__ __forceinline__ uint16_t sm_of_block() { return static_cast<uint16_t>(SNOOPIE_SPECIAL("smid")); }

__device__ __noinline__ bool in_selected_block(const BlockFilter* blocks) {
    return block_selected(*blocks, blockIdx.x, blockIdx.y, blockIdx.z, linear_block());
}

}  // namespace
}  // namespace snoopie
