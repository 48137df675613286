#include "memory/access_grants.h"

#include "memory/call_params.h"

namespace snoopie {

bool allows(const CUmemAccessDesc& access) {
    return access.location.type == CU_MEM_LOCATION_TYPE_DEVICE && access.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

void AccessGrants::after(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMemSetAccess: {
            const auto& p = as<cuMemSetAccess_params>(params);
            return set(p.ptr, p.size, p.desc, p.count);
        }
        case API_CUDA_cuCtxEnablePeerAccess:
            return set_peer(context, as<cuCtxEnablePeerAccess_params>(params).peerContext, true);
        case API_CUDA_cuCtxDisablePeerAccess:
            return set_peer(context, as<cuCtxDisablePeerAccess_params>(params).peerContext, false);
        default:
            return;
    }
}

void AccessGrants::set(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
    const std::vector<Object> objects = memory_->map().objects_in(address, bytes);
    for (size_t i = 0; access && i < count; ++i)
        for (const Object& object : objects)
            if (allows(access[i])) memory_->reach().grant(owners_->at(access[i].location), object.owner);
}

void AccessGrants::set_peer(CUcontext issuer, CUcontext owner, bool enabled) {
    const int from = owners_->gpu_of(issuer);
    const int to = owners_->gpu_of(owner);
    if (from >= 0 && to >= 0) memory_->reach().enable_peer(static_cast<uint8_t>(from), static_cast<uint8_t>(to), enabled);
}

}  // namespace snoopie
