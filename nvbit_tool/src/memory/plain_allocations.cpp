#include "memory/plain_allocations.h"

#include "memory/call_params.h"

namespace snoopie {

void PlainAllocations::after(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMemAlloc_v2: {
            const auto& p = as<cuMemAlloc_v2_params>(params);
            return objects_->add(*p.dptr, p.bytesize, owners_->in(context), ObjectKind::device, context);
        }
        case API_CUDA_cuMemAllocPitch_v2: {
            const auto& p = as<cuMemAllocPitch_v2_params>(params);
            return objects_->add(*p.dptr, *p.pPitch * p.Height, owners_->in(context), ObjectKind::device, context);
        }
        case API_CUDA_cuMemAllocManaged: {
            // The host's until it is placed on a GPU.
            const auto& p = as<cuMemAllocManaged_params>(params);
            return objects_->add(*p.dptr, p.bytesize, kOwnerHost, ObjectKind::managed, nullptr);
        }
        case API_CUDA_cuMemHostAlloc: {
            const auto& p = as<cuMemHostAlloc_params>(params);
            return objects_->add(device_address(*p.pp), p.bytesize, kOwnerHost, ObjectKind::host, context);
        }
        case API_CUDA_cuMemAllocHost_v2: {
            const auto& p = as<cuMemAllocHost_v2_params>(params);
            return objects_->add(device_address(*p.pp), p.bytesize, kOwnerHost, ObjectKind::host, context);
        }
        case API_CUDA_cuMemHostRegister_v2: {
            const auto& p = as<cuMemHostRegister_v2_params>(params);
            return objects_->add(device_address(p.p), p.bytesize, kOwnerHost, ObjectKind::registered, context);
        }
        default:
            return;
    }
}

}  // namespace snoopie
