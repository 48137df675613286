#include "calls/launch_calls.h"

#include <mutex>
#include <unordered_map>

namespace snoopie {

namespace {

// Cooperative launches have no such member.
template <class Params>
auto extra_of(const Params& params, int) -> decltype(params.extra) {
    return params.extra;
}
template <class Params>
void** extra_of(const Params&, long) {
    return nullptr;
}

// What cuFuncSetBlockShape said last.
class BlockShapes {
  public:
    void set(CUfunction function, std::array<uint32_t, 3> shape) {
        std::unique_lock lock(mutex_);
        shapes_[function] = shape;
    }
    std::array<uint32_t, 3> get(CUfunction function) {
        std::unique_lock lock(mutex_);
        const auto found = shapes_.find(function);
        return found == shapes_.end() ? std::array<uint32_t, 3>{1, 1, 1} : found->second;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<CUfunction, std::array<uint32_t, 3>> shapes_;
};

// Never destroyed: callbacks of other threads can still come while the process ends.
BlockShapes& block_shapes = *new BlockShapes;

template <class Params>
LaunchCall plain_launch(const void* params, bool per_thread) {
    const auto* p = static_cast<const Params*>(params);
    return {p->f,
            stream_of(p->hStream, per_thread),
            {p->gridDimX, p->gridDimY, p->gridDimZ},
            {p->blockDimX, p->blockDimY, p->blockDimZ},
            p->sharedMemBytes,
            p->kernelParams,
            extra_of(*p, 0)};
}

// cuFuncSetBlockShape and cuParamSet say the rest, one call before another.
LaunchCall ancient_launch(CUfunction function, CUstream stream, int width, int height) {
    return {function, stream, {static_cast<uint32_t>(width), static_cast<uint32_t>(height), 1}, block_shapes.get(function)};
}

LaunchCall extended_launch(const void* params, bool per_thread) {
    const auto* p = static_cast<const cuLaunchKernelEx_params*>(params);
    const CUlaunchConfig& c = *p->config;
    bool changes_on_device = false;
    for (unsigned i = 0; c.attrs && i < c.numAttrs; ++i)
        changes_on_device |= c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    return {p->f,
            stream_of(c.hStream, per_thread),
            {c.gridDimX, c.gridDimY, c.gridDimZ},
            {c.blockDimX, c.blockDimY, c.blockDimZ},
            c.sharedMemBytes,
            p->kernelParams,
            p->extra,
            changes_on_device};
}

}  // namespace

std::optional<LaunchCall> launch_call(nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuLaunchKernel:
            return plain_launch<cuLaunchKernel_params>(params, false);
        case API_CUDA_cuLaunchKernel_ptsz:
            return plain_launch<cuLaunchKernel_params>(params, true);
        case API_CUDA_cuLaunchCooperativeKernel:
            return plain_launch<cuLaunchCooperativeKernel_params>(params, false);
        case API_CUDA_cuLaunchCooperativeKernel_ptsz:
            return plain_launch<cuLaunchCooperativeKernel_params>(params, true);
        case API_CUDA_cuLaunch:
            return ancient_launch(static_cast<const cuLaunch_params*>(params)->f, CU_STREAM_LEGACY, 1, 1);
        case API_CUDA_cuLaunchGrid: {
            const auto* p = static_cast<const cuLaunchGrid_params*>(params);
            return ancient_launch(p->f, CU_STREAM_LEGACY, p->grid_width, p->grid_height);
        }
        case API_CUDA_cuLaunchGridAsync: {
            const auto* p = static_cast<const cuLaunchGridAsync_params*>(params);
            return ancient_launch(p->f, stream_of(p->hStream, false), p->grid_width, p->grid_height);
        }
        case API_CUDA_cuLaunchKernelEx:
        case API_CUDA_cuLaunchKernelEx_ptsz:
            if (!static_cast<const cuLaunchKernelEx_params*>(params)->config) return std::nullopt;  // the driver will refuse it
            return extended_launch(params, cbid == API_CUDA_cuLaunchKernelEx_ptsz);
        default:
            return std::nullopt;
    }
}

CUfunction launched_kernel(nvbit_api_cuda_t cbid, const void* params) {
    const auto call = launch_call(cbid, params);
    return call ? call->function : nullptr;
}

std::vector<LaunchCall> multi_device_launches(const cuLaunchCooperativeKernelMultiDevice_params& params) {
    std::vector<LaunchCall> calls;
    for (unsigned i = 0; params.launchParamsList && i < params.numDevices; ++i) {
        const CUDA_LAUNCH_PARAMS& l = params.launchParamsList[i];
        calls.push_back({l.function,
                         l.hStream,
                         {l.gridDimX, l.gridDimY, l.gridDimZ},
                         {l.blockDimX, l.blockDimY, l.blockDimZ},
                         l.sharedMemBytes,
                         l.kernelParams,
                         nullptr});
    }
    return calls;
}

void block_shape_set(const cuFuncSetBlockShape_params& params) {
    block_shapes.set(params.hfunc, {static_cast<uint32_t>(params.x), static_cast<uint32_t>(params.y), static_cast<uint32_t>(params.z)});
}

}  // namespace snoopie
