// Driver calls that launch kernels, read from their parameters.
#pragma once

#include <optional>
#include <vector>

#include "calls/launch_call.h"
#include "nvbit.h"

namespace snoopie {

// The launch that a driver call asks for; none if it asks for none, or for one on each of several devices.
std::optional<LaunchCall> launch_call(nvbit_api_cuda_t cbid, const void* params);

// The kernel of that launch, else null.
CUfunction launched_kernel(nvbit_api_cuda_t cbid, const void* params);

// One launch a device, each for the context of its stream.
std::vector<LaunchCall> multi_device_launches(const cuLaunchCooperativeKernelMultiDevice_params& params);

// The call has succeeded: launch calls of CUDA 3 and before leave it to this one to say the shape of blocks. Safe to call from any thread.
void block_shape_set(const cuFuncSetBlockShape_params& params);

}  // namespace snoopie
