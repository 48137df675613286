// What programs do here: each call is told to the tool, as NVBit does it.
#pragma once

#include <cstdio>
#include <cstring>

#include "driver/nvbit_end.h"
#include "kernels.h"

constexpr size_t kBytes = 4 << 20;

// A program of millions of calls says of each only what is wrong.
inline bool quiet = false;
// Whether NVBit hears of calls.
inline bool heard = true;
// Each is a row of the trace.
inline long launches = 0;

// An event of the driver's goes to NVBit.
template <class Event>
void tell(const Event& event) {
    if (heard) snoopie::into_nvbit(event);
}

// A call of the program's, as NVBit tells the tool of it. `carry_out` is the driver.
template <class Params, class Action>
CUresult call(nvbit_api_cuda_t number, const char* name, Params params, Action carry_out) {
    const auto told = [&](int is_exit, CUresult* status) {
        const Params before = params;
        const std::string state = state_of_thread();
        CUcontext current = nullptr;
        {
            const ProgramCall own;
            cuCtxGetCurrent(&current);
        }
        tell([&] {
            nvbit_may_end("event");
            nvbit_at_cuda_event(current, is_exit, number, name, &params, status);
        });
        if (std::memcmp(&before, &params, sizeof params) != 0) std::printf("%s: its parameters were changed\n", name);
        if (state_of_thread() != state) std::printf("%s: %s became %s\n", name, state.c_str(), state_of_thread().c_str());
    };
    told(0, nullptr);
    CUresult status;
    {
        const ProgramCall own;
        status = carry_out(params);
    }
    const CUresult answered = status;
    told(1, &status);
    if (!quiet || status != answered) std::printf("%s %d%s\n", name, answered, status == answered ? "" : ", and another status was left");
    return answered;
}

#define CALL(NAME, PARAMS, ...) \
    call(API_CUDA_##NAME, #NAME, NAME##_params PARAMS, [&]([[maybe_unused]] const NAME##_params& p) -> CUresult { __VA_ARGS__; })

inline CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    CALL(cuMemAlloc_v2, ({&address, bytes}), return cuMemAlloc_v2(p.dptr, p.bytesize));
    return address;
}

// What a program that maps memory itself asks for.
inline CUmemAllocationProp memory_of(int gpu) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu};
    return properties;
}

inline CUmemAccessDesc access_by(int gpu) {
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return access;
}

inline void launch_with(void** arguments, CUfunction function, CUstream stream, const std::vector<CUdeviceptr>& to, uint64_t warps,
                        CUresult result = CUDA_SUCCESS) {
    ++launches;
    cuLaunchKernel_params params{function, static_cast<unsigned>(warps), 1, 1, 32, 1, 1, 0, stream, arguments, nullptr};
    CALL(cuLaunchKernel, (params), {
        CUcontext current = nullptr;
        cuCtxGetCurrent(&current);
        if (result == CUDA_SUCCESS) run_kernel(current, p.f, to, warps);
        return result;
    });
}

inline void launch(CUfunction function, CUstream stream, CUdeviceptr to, uint64_t warps, CUresult result = CUDA_SUCCESS) {
    void* argument = &to;
    launch_with(&argument, function, stream, {to}, warps, result);
}

inline void launch_two_stores(CUstream stream, CUdeviceptr first, CUdeviceptr second, uint64_t warps, CUfunction function = kTwoStores) {
    int other = 0;
    void* arguments[] = {&first, &second, &other};
    launch_with(arguments, function, stream, {first, second}, warps);
}

inline void capture(CUfunction function, CUstream stream, CUdeviceptr to) {
    void* argument = &to;
    cuLaunchKernel_params params{function, 1, 1, 1, 32, 1, 1, 0, stream, &argument, nullptr};
    CALL(cuLaunchKernel, (params), {
        capture_kernel(p.hStream);
        return CUDA_SUCCESS;
    });
}

inline void switch_to(int gpu) {
    const ProgramCall own;
    CUcontext before = nullptr;
    cuCtxPopCurrent_v2(&before);
    cuCtxPushCurrent_v2(context_of_gpu(gpu));
}
