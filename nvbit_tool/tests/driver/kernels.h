// NVBit as the collector sees it: kernels of one instruction, a store of a full warp, and what was injected before it.
#pragma once

#include "driver.h"
#include "nvbit.h"

inline CUfunction kernel(int number) { return reinterpret_cast<CUfunction>(uint64_t{0x800} + 8 * static_cast<uint64_t>(number)); }

// The same kernel as a node of a graph has it: another handle of the same code.
inline CUfunction in_graph(CUfunction kernel) { return reinterpret_cast<CUfunction>(reinterpret_cast<uint64_t>(kernel) | 4); }
inline CUfunction of_launch(CUfunction kernel) { return reinterpret_cast<CUfunction>(reinterpret_cast<uint64_t>(kernel) & ~uint64_t{4}); }

// What a GPU does: so many blocks of one warp of the kernel store to `to`, and what was injected counts them. With another launch value
// where the launch is one of a graph.
void run_kernel(CUcontext context, CUfunction function, CUdeviceptr to, uint64_t warps);
