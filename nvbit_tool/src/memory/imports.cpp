#include "memory/imports.h"

#include "memory/call_params.h"

namespace snoopie {

void Imports::after(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMemImportFromShareableHandle:
            return imported(as<cuMemImportFromShareableHandle_params>(params));
        case API_CUDA_cuMemExportToShareableHandle:
            return exported(as<cuMemExportToShareableHandle_params>(params));
        case API_CUDA_cuIpcGetMemHandle: {
            const auto& p = as<cuIpcGetMemHandle_params>(params);
            return publish(p.pHandle, sizeof *p.pHandle, memory_->map().owner_of(p.dptr).value_or(kOwnerUnknown));
        }
        case API_CUDA_cuIpcOpenMemHandle:
        case API_CUDA_cuIpcOpenMemHandle_v2: {
            const auto& p = as<cuIpcOpenMemHandle_v2_params>(params);
            return add(*p.pdptr, published_owner(&p.handle, sizeof p.handle), owners_->gpu_of(context), context);
        }
        case API_CUDA_cuMemPoolExportPointer: {
            const auto& p = as<cuMemPoolExportPointer_params>(params);
            return publish(p.shareData_out, sizeof *p.shareData_out, memory_->map().owner_of(p.ptr).value_or(kOwnerUnknown));
        }
        case API_CUDA_cuMemPoolImportPointer:
            return pool_imported(owners_->gpu_of(context), as<cuMemPoolImportPointer_params>(params));
        default:
            return;
    }
}

std::optional<uint8_t> Imports::owner(CUmemGenericAllocationHandle handle) const {
    std::unique_lock lock(mutex_);
    const auto found = imported_.find(handle);
    return found == imported_.end() ? std::nullopt : std::optional(found->second);
}

void Imports::released(CUmemGenericAllocationHandle handle) {
    std::unique_lock lock(mutex_);
    imported_.erase(handle);
}

void Imports::publish(const void* handle, size_t bytes, uint8_t owner) {
    if (owners_->is_gpu(owner)) exports_.publish({static_cast<const char*>(handle), bytes}, owners_->uuid(owner));
}

uint8_t Imports::published_owner(const void* handle, size_t bytes) const {
    const auto uuid = exports_.find({static_cast<const char*>(handle), bytes});
    return uuid ? owners_->by_uuid(*uuid) : kOwnerUnknown;
}

void Imports::exported(const cuMemExportToShareableHandle_params& call) {
    const OwnCalls calls;
    CUmemAllocationProp properties{};
    if (cuMemGetAllocationPropertiesFromHandle(&properties, call.handle) != CUDA_SUCCESS) return;
    const uint8_t owner = owners_->at(properties.location);
    if (!owners_->is_gpu(owner)) return;
    if (call.handleType == CU_MEM_HANDLE_TYPE_FABRIC) publish(call.shareableHandle, sizeof(CUmemFabricHandle), owner);
    // Where each process sees all GPUs, the driver tells the importer.
    if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && !owners_->all_visible())
        exports_.publish_descriptor(*static_cast<const int*>(call.shareableHandle), owners_->uuid(owner));
}

void Imports::imported(const cuMemImportFromShareableHandle_params& call) {
    uint8_t owner = kOwnerUnknown;
    if (call.shHandleType == CU_MEM_HANDLE_TYPE_FABRIC) owner = published_owner(call.osHandle, sizeof(CUmemFabricHandle));
    if (call.shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && !owners_->all_visible()) {
        const auto uuid = exports_.find_descriptor(static_cast<int>(reinterpret_cast<intptr_t>(call.osHandle)));
        if (uuid) owner = owners_->by_uuid(*uuid);
    }
    std::unique_lock lock(mutex_);
    imported_[*call.handle] = owner;
}

void Imports::pool_imported(int gpu, const cuMemPoolImportPointer_params& call) {
    uint8_t owner = published_owner(call.shareData, sizeof *call.shareData);
    const OwnCalls own;
    int device = -1;
    // Of a pool on a GPU that this process does not see, the driver names the importer's own.
    if (owner == kOwnerUnknown && owners_->all_visible() &&
        cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, *call.ptr_out) == CUDA_SUCCESS)
        owner = owners_->at(device);
    add(*call.ptr_out, owner, gpu, nullptr);
}

void Imports::add(CUdeviceptr address, uint8_t owner, int gpu, CUcontext context) {
    const OwnCalls own;
    CUdeviceptr base = address;
    size_t bytes = 0;
    if (cuMemGetAddressRange_v2(&base, &bytes, address) != CUDA_SUCCESS) bytes = 1ull << kPageBits;
    objects_->add(address, bytes - (address - base), owner, ObjectKind::import, context);
    if (gpu >= 0) memory_->reach().grant(static_cast<uint8_t>(gpu), owner);
}

}  // namespace snoopie
