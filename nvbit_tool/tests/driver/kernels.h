// NVBit as the collector sees it: kernels of one or two stores of a full warp, and what was injected before these.
#pragma once

#include <vector>

#include "driver.h"
#include "nvbit.h"

inline CUfunction kernel(int number) { return reinterpret_cast<CUfunction>(uint64_t{0x800} + 8 * static_cast<uint64_t>(number)); }

// It stores to two of its parameters, of which its module tells where they are.
inline const CUfunction kTwoStores = kernel(3);
// It calls functions of a table in its module, as NCCL's kernels do: its argument says which.
inline const CUfunction kByTable = kernel(4);
constexpr int kFirstInTable = 5;
constexpr int kInTable = 2;

// The same kernel as a node of a graph has it, and as its library has it: other handles of the same code. The latter (a CUkernel) can be
// launched, too, but is no function to other calls.
inline CUfunction in_graph(CUfunction kernel) { return reinterpret_cast<CUfunction>(reinterpret_cast<uint64_t>(kernel) | 4); }
inline CUfunction of_library(CUfunction kernel) { return reinterpret_cast<CUfunction>(reinterpret_cast<uint64_t>(kernel) | 2); }
inline CUfunction of_launch(CUfunction kernel) { return reinterpret_cast<CUfunction>(reinterpret_cast<uint64_t>(kernel) & ~uint64_t{6}); }

inline CUmodule module_of(CUfunction kernel) {
    const CUfunction code = of_launch(kernel);
    return reinterpret_cast<CUmodule>(uint64_t{0x900} + (code == kTwoStores ? 8 : code == kByTable ? 16 : 0));
}

// NVBit subscribes to the driver's events, and ends the program where it is refused. Whether it hears of anything.
bool nvbit_starts();

// NVBit may end here, for which it must have been entered: see driver/nvbit_end.h.
void nvbit_may_end(const char* where);

// How often the collector has asked for a module's code.
extern int modules_read;

// The kernels of the module are gone, and what was injected into them. Others get their handles and their places.
void unload(CUmodule module);

// What a GPU does: so many blocks of one warp of the kernel run each of its stores, and what was injected counts them. `to`: where each of
// them stores. `node`: of a graph, which has another launch value.
void run_kernel(CUcontext context, CUfunction function, const std::vector<CUdeviceptr>& to, uint64_t warps, uint64_t node = 0);
// Its graph is gone.
void forget_node(CUcontext context, CUfunction function, uint64_t node);
