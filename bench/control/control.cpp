// The control of the bench: an NVBit tool that calls an empty function, without arguments, before every global memory access and does
// nothing else. What a kernel costs under it is what anything costs that makes one call for each access. With CONTROL=idle it does nothing
// at all: what NVBit alone costs.
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "driver/injection.h"
#include "nvbit.h"

namespace {

// In CUDA 13 all contexts of a process share a function's handle.
std::set<std::pair<CUcontext, CUfunction>> instrumented;
std::mutex instrumenting;

const bool idle = [] {
    const char* wanted = std::getenv("CONTROL");
    return wanted && std::strcmp(wanted, "idle") == 0;
}();

__attribute__((constructor(101))) void at_load() { snoopie::name_the_tool_to_the_driver(); }

bool is_global(InstrType::MemorySpace space) {
    return space == InstrType::MemorySpace::GLOBAL || space == InstrType::MemorySpace::GENERIC ||
           space == InstrType::MemorySpace::GLOBAL_TO_SHARED;
}

void instrument(CUcontext context, CUfunction kernel) {
    std::unique_lock lock(instrumenting);
    if (!instrumented.insert({context, kernel}).second) return;
    std::vector<CUfunction> functions{kernel};
    for (const CUfunction related : nvbit_get_related_functions(context, kernel))
        if (instrumented.insert({context, related}).second) functions.push_back(related);
    for (const CUfunction function : functions)
        for (Instr* instr : nvbit_get_instrs(context, function))
            if (is_global(instr->getMemorySpace())) nvbit_insert_call(instr, "empty_call", IPOINT_BEFORE);
    nvbit_enable_instrumented(context, kernel, true);
}

}  // namespace

// NVBit looks for all of them by name.
void nvbit_at_init() {}
void nvbit_at_term() {}
void nvbit_at_ctx_init(CUcontext) {}
void nvbit_at_ctx_term(CUcontext) {}
void nvbit_tool_init(CUcontext) {}
void nvbit_at_graph_node_launch(CUcontext, CUfunction, CUstream, uint64_t) {}

void nvbit_at_cuda_event(CUcontext context, int is_exit, nvbit_api_cuda_t call, const char*, void* params, CUresult*) {
    if (is_exit || idle) return;
    switch (call) {
        case API_CUDA_cuLaunchKernel:
        case API_CUDA_cuLaunchKernel_ptsz:
            return instrument(context, static_cast<cuLaunchKernel_params*>(params)->f);
        case API_CUDA_cuLaunchKernelEx:
        case API_CUDA_cuLaunchKernelEx_ptsz:
            return instrument(context, static_cast<cuLaunchKernelEx_params*>(params)->f);
        default:
            return;
    }
}
