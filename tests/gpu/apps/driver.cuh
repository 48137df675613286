// The driver's own calls, for what the runtime does not offer. The runtime finds them, so that no program needs libcuda to link.
#pragma once

#include <cuda.h>

#include "common.cuh"

// DRIVER(cuMemMap)(…) is a call of cuMemMap.
#define DRIVER(function) driver_function<decltype(function)>(#function)

// The calls that the programs make have had their present form since then.
constexpr unsigned kDriverVersion = 12000;

// The runtime's numbers of errors are the driver's.
inline void check(CUresult status, const char* call, const char* file, int line) {
    check(static_cast<cudaError_t>(status), call, file, line);
}

template <typename Function>
Function* driver_function(const char* name) {
    void* function = nullptr;
#if CUDART_VERSION >= 12050
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, kDriverVersion, cudaEnableDefault));
#else
    CHECK(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault));
#endif
    if (function != nullptr) return reinterpret_cast<Function*>(function);
    std::printf("the driver has no %s\n", name);
    std::exit(kCannotRun);
}

inline int attribute(CUdevice_attribute which, int gpu) {
    int value = 0;
    CHECK(DRIVER(cuDeviceGetAttribute)(&value, which, gpu));
    return value;
}
