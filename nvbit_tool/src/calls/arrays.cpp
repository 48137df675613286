#include "calls/arrays.h"

namespace snoopie {

namespace {

// 0 where the channels are not of whole bytes side by side.
unsigned channel_bytes(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
        case CU_AD_FORMAT_UNORM_INT8X1:
        case CU_AD_FORMAT_UNORM_INT8X2:
        case CU_AD_FORMAT_UNORM_INT8X4:
        case CU_AD_FORMAT_SNORM_INT8X1:
        case CU_AD_FORMAT_SNORM_INT8X2:
        case CU_AD_FORMAT_SNORM_INT8X4:
            return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
        case CU_AD_FORMAT_UNORM_INT16X1:
        case CU_AD_FORMAT_UNORM_INT16X2:
        case CU_AD_FORMAT_UNORM_INT16X4:
        case CU_AD_FORMAT_SNORM_INT16X1:
        case CU_AD_FORMAT_SNORM_INT16X2:
        case CU_AD_FORMAT_SNORM_INT16X4:
            return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4;
        default:
            return 0;
    }
}

}  // namespace

uint64_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array) { return uint64_t{channel_bytes(array.Format)} * array.NumChannels; }

uint64_t element_bytes(CUarray array) {
    const OwnCalls own;
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    return succeeded(cuArray3DGetDescriptor_v2(&descriptor, array)) ? element_bytes(descriptor) : 0;
}

void Arrays::at_event(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
#define ON(call, action)                                            \
    case API_CUDA_##call: {                                         \
        const auto& p = *static_cast<const call##_params*>(params); \
        return action;                                              \
    }
    switch (cbid) {
        ON(cuArrayCreate, made(*p.pHandle, context))
        ON(cuArrayCreate_v2, made(*p.pHandle, context))
        ON(cuArray3DCreate, made(*p.pHandle, context))
        ON(cuArray3DCreate_v2, made(*p.pHandle, context))
        ON(cuMipmappedArrayCreate, made(*p.pHandle, context))
        ON(cuExternalMemoryGetMappedMipmappedArray, made(*p.mipmap, context))
        ON(cuGraphicsSubResourceGetMappedArray, made(*p.pArray, context))
        ON(cuGraphicsResourceGetMappedMipmappedArray, made(*p.pMipmappedArray, context))
        ON(cuMipmappedArrayGetLevel, part_of(*p.pLevelArray, p.hMipmappedArray))
        ON(cuArrayGetPlane, part_of(*p.pPlaneArray, p.hArray))
        ON(cuArrayDestroy, destroyed(p.hArray))
        ON(cuMipmappedArrayDestroy, destroyed(p.hMipmappedArray))
        default:
            return;
    }
#undef ON
}

void Arrays::made(const void* handle, CUcontext context) {
    std::unique_lock lock(mutex_);
    contexts_[handle] = context;
}

void Arrays::part_of(const void* handle, const void* whole) {
    std::unique_lock lock(mutex_);
    const auto found = contexts_.find(whole);
    if (found == contexts_.end()) return;
    const CUcontext context = found->second;
    contexts_[handle] = context;
}

void Arrays::destroyed(const void* handle) {
    std::unique_lock lock(mutex_);
    contexts_.erase(handle);
}

CUcontext Arrays::context_of(CUarray array) const {
    std::unique_lock lock(mutex_);
    const auto found = contexts_.find(array);
    return found == contexts_.end() ? nullptr : found->second;
}

}  // namespace snoopie
