#include "memory/multicast_objects.h"

#include "memory/call_params.h"

namespace snoopie {

void MulticastObjects::after(nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMulticastCreate:
            return added(*as<cuMulticastCreate_params>(params).mcHandle, -1);
        case API_CUDA_cuMulticastAddDevice: {
            const auto& p = as<cuMulticastAddDevice_params>(params);
            return added(p.mcHandle, p.dev);
        }
        default:
            return;
    }
}

// A member joins the object, or with -1 the object is made. One that this process has not made was imported: it has members elsewhere.
void MulticastObjects::added(CUmemGenericAllocationHandle handle, CUdevice device) {
    bool is_new = false;
    const auto owner = sets_.add(handle, &is_new);
    if (!owner) return;
    if (is_new && device >= 0) writer_->append(SetRow{*owner, kOwnerUnknown});
    if (device >= 0) writer_->append(SetRow{*owner, owners_->at(device)});
}

}  // namespace snoopie
