// The collector's calls of NVBit, which the linker sends here (--wrap): where NVBit ends in one, or has ended before, they throw
// NvbitEnded.
#include <cstdint>
#include <vector>

#include "driver/nvbit_end.h"
#include "nvbit.h"

#define NVBIT(Result, name, parameters, arguments)                                       \
    Result __real_##name parameters;                                                     \
    Result __wrap_##name parameters {                                                    \
        return snoopie::from_nvbit([&]() -> Result { return __real_##name arguments; }); \
    }

extern "C" {

using Instrs = const std::vector<Instr*>&;

NVBIT(int, nvbit_load_tool_module, (CUcontext context, const void* image, CUmodule* module), (context, image, module))
NVBIT(int, nvbit_find_function_by_name, (CUcontext context, CUmodule module, const char* name, CUfunction* function),
      (context, module, name, function))
NVBIT(int, nvbit_launch_kernel,
      (CUcontext context, CUfunction function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
       uint32_t block_z, uint32_t shared, CUstream stream, void** parameters, void** extra),
      (context, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra))
NVBIT(std::vector<CUfunction>, nvbit_get_related_functions, (CUcontext context, CUfunction function), (context, function))
NVBIT(std::vector<int>, nvbit_get_kernel_argument_sizes, (CUcontext context, CUfunction function), (context, function))
NVBIT(Instrs, nvbit_get_instrs, (CUcontext context, CUfunction function), (context, function))
NVBIT(const char*, nvbit_get_func_name, (CUcontext context, CUfunction function, bool mangled), (context, function, mangled))
NVBIT(bool, nvbit_dump_cubin, (CUcontext context, CUfunction function, const char* path), (context, function, path))
NVBIT(uint32_t, nvbit_get_sm_family, (CUcontext context), (context))
NVBIT(uint64_t, nvbit_get_func_addr, (CUcontext context, CUfunction function), (context, function))
NVBIT(bool, nvbit_is_func_kernel, (CUcontext context, CUfunction function), (context, function))
NVBIT(void, nvbit_get_func_config, (CUcontext context, CUfunction function, func_config_t* config), (context, function, config))
NVBIT(void, nvbit_insert_call, (const Instr* instr, const char* probe, ipoint_t place), (instr, probe, place))
NVBIT(void, nvbit_add_call_arg_guard_pred_val, (const Instr* instr, bool variadic), (instr, variadic))
NVBIT(void, nvbit_add_call_arg_pred_val_at, (const Instr* instr, int predicate, bool variadic), (instr, predicate, variadic))
NVBIT(void, nvbit_add_call_arg_upred_val_at, (const Instr* instr, int predicate, bool variadic), (instr, predicate, variadic))
NVBIT(void, nvbit_add_call_arg_const_val32, (const Instr* instr, uint32_t value, bool variadic), (instr, value, variadic))
NVBIT(void, nvbit_add_call_arg_const_val64, (const Instr* instr, uint64_t value, bool variadic), (instr, value, variadic))
NVBIT(void, nvbit_add_call_arg_reg_val, (const Instr* instr, int number, bool variadic), (instr, number, variadic))
NVBIT(void, nvbit_add_call_arg_ureg_val, (const Instr* instr, int number, bool variadic), (instr, number, variadic))
NVBIT(void, nvbit_add_call_arg_launch_val64, (const Instr* instr, int offset, bool variadic), (instr, offset, variadic))
NVBIT(void, nvbit_add_call_arg_mref_addr64, (const Instr* instr, int number, bool variadic), (instr, number, variadic))
NVBIT(void, nvbit_enable_instrumented, (CUcontext context, CUfunction function, bool on, bool related), (context, function, on, related))
NVBIT(void, nvbit_set_at_launch, (CUcontext context, CUfunction function, uint64_t value, CUstream stream, uint64_t launch),
      (context, function, value, stream, launch))

}  // extern "C"
