#include "memory/mappings.h"

#include "driver/thread_stack.h"
#include "memory/call_params.h"

namespace snoopie {

namespace {

// The handles that this thread's calls release which are between entry and exit.
thread_local ThreadStack<PhysicalMemory::Release> releasing;

}  // namespace

void Mappings::before(nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMemCreate:
            return imports_->tidy();
        case API_CUDA_cuMemRelease:
            return releasing.push(physical_.releasing(as<cuMemRelease_params>(params).handle));
        default:
            return;
    }
}

void Mappings::after(nvbit_api_cuda_t cbid, const void* params, bool succeeded) {
    if (cbid == API_CUDA_cuMemRelease) return released(as<cuMemRelease_params>(params).handle, succeeded);
    if (!succeeded) return;
    switch (cbid) {
        case API_CUDA_cuMemCreate:
            return created(as<cuMemCreate_params>(params));
        case API_CUDA_cuMemRetainAllocationHandle:
            return retained(as<cuMemRetainAllocationHandle_params>(params));
        case API_CUDA_cuMemMap:
            return mapped(as<cuMemMap_params>(params));
        case API_CUDA_cuMemAddressReserve:
            return memory_->reserved(*as<cuMemAddressReserve_params>(params).ptr, as<cuMemAddressReserve_params>(params).size);
        case API_CUDA_cuMemAddressFree:
            return memory_->unreserved(as<cuMemAddressFree_params>(params).ptr);
        default:
            return;
    }
}

void Mappings::created(const cuMemCreate_params& call) {
    Object object;
    object.bytes = call.size;
    object.owner = owners_->at(call.prop->location);
    object.kind = ObjectKind::physical;
    physical_.created(*call.handle, objects_->listed(object));
}

void Mappings::retained(const cuMemRetainAllocationHandle_params& call) {
    for (const Object& mapping : memory_->map().objects_in(reinterpret_cast<uint64_t>(call.addr), 1))
        physical_.retained(*call.handle, mapping.id);
}

void Mappings::mapped(const cuMemMap_params& call) {
    Object object;
    object.address = call.ptr;
    object.bytes = call.size;
    object.owner = kOwnerUnknown;
    object.kind = ObjectKind::mapping;
    object.inside = physical_.mapping(call.handle);
    if (const auto set = multicast_->owner(call.handle)) {
        object.owner = *set;
        object.kind = ObjectKind::multicast;
    } else {
        // Asked now, while the handle lives: NVSHMEM and NCCL release it at once.
        const OwnCalls own;
        CUmemAllocationProp properties{};
        if (cuMemGetAllocationPropertiesFromHandle(&properties, call.handle) == CUDA_SUCCESS)
            object.owner = owners_->at(properties.location);
        if (const auto imported = imports_->owner(call.handle)) {
            object.kind = ObjectKind::import;
            if (*imported != kOwnerUnknown) object.owner = *imported;
        }
    }
    physical_.mapped(object.inside, objects_->allocated(object));
}

void Mappings::released(CUmemGenericAllocationHandle handle, bool succeeded) {
    const auto release = releasing.pop();
    if (release) ended(physical_.released(*release, succeeded));
    if (!succeeded) return;
    imports_->tidy();
    multicast_->released(handle);
    imports_->released(handle);
}

void Mappings::unmapped(const std::vector<Object>& mappings) {
    for (const Object& mapping : mappings) ended(physical_.unmapped(mapping.id));
}

void Mappings::ended(uint32_t allocation) {
    if (allocation != 0) memory_->ended(allocation);
}

}  // namespace snoopie
