#include "memory/array_objects.h"

#include <algorithm>

#include "calls/arrays.h"
#include "memory/call_params.h"

namespace snoopie {

void ArrayObjects::after(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuArrayCreate_v2: {
            const auto& p = as<cuArrayCreate_v2_params>(params);
            CUDA_ARRAY3D_DESCRIPTOR shape{};
            shape.Width = p.pAllocateArray->Width;
            shape.Height = p.pAllocateArray->Height;
            shape.Format = p.pAllocateArray->Format;
            shape.NumChannels = p.pAllocateArray->NumChannels;
            return created(*p.pHandle, shape, context);
        }
        case API_CUDA_cuArray3DCreate_v2: {
            const auto& p = as<cuArray3DCreate_v2_params>(params);
            return created(*p.pHandle, *p.pAllocateArray, context);
        }
        case API_CUDA_cuArrayDestroy:
            return destroyed(as<cuArrayDestroy_params>(params).hArray);
        default:
            return;
    }
}

void ArrayObjects::created(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR& shape, CUcontext context) {
    Object object;
    object.bytes = shape.Width * std::max<uint64_t>(shape.Height, 1) * std::max<uint64_t>(shape.Depth, 1) * element_bytes(shape);
    object.owner = owners_->in(context);
    object.kind = ObjectKind::array;
    const Maker by = objects_->maker();
    std::unique_lock lock(mutex_);
    arrays_[array] = {memory_->listed(object, by), context};
}

void ArrayObjects::destroyed(CUarray array) {
    std::unique_lock lock(mutex_);
    const auto found = arrays_.find(array);
    if (found == arrays_.end()) return;
    memory_->ended(found->second.object);
    arrays_.erase(found);
}

void ArrayObjects::context_ending(CUcontext context) {
    std::unique_lock lock(mutex_);
    for (auto array = arrays_.begin(); array != arrays_.end();) {
        if (array->second.context != context) {
            ++array;
            continue;
        }
        memory_->ended(array->second.object, FreedBy::context_end);
        array = arrays_.erase(array);
    }
}

}  // namespace snoopie
