#include "memory/frees.h"

#include "driver/thread_stack.h"
#include "memory/call_params.h"

namespace snoopie {

namespace {

// What this thread's calls free that are between entry and exit.
thread_local ThreadStack<std::vector<Object>> freeing;

}  // namespace

void Frees::before(nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMemFree_v2:
            return freeing.push(memory_->freeing(as<cuMemFree_v2_params>(params).dptr));
        case API_CUDA_cuMemFreeAsync:
        case API_CUDA_cuMemFreeAsync_ptsz: {
            // In a capture it becomes a node: graph memory stays in the trace, because every launch of the graph uses it again.
            const auto& p = as<cuMemFreeAsync_params>(params);
            return freeing.push(capturing(p.hStream) ? std::vector<Object>() : memory_->freeing(p.dptr));
        }
        case API_CUDA_cuIpcCloseMemHandle:
            return freeing.push(memory_->freeing(as<cuIpcCloseMemHandle_params>(params).dptr));
        case API_CUDA_cuMemFreeHost:
            return freeing.push(memory_->freeing(device_address(as<cuMemFreeHost_params>(params).p)));
        case API_CUDA_cuMemHostUnregister:
            return freeing.push(memory_->freeing(device_address(as<cuMemHostUnregister_params>(params).p)));
        case API_CUDA_cuMemUnmap:
            imports_->tidy();
            return freeing.push(memory_->unmapping(as<cuMemUnmap_params>(params).ptr, as<cuMemUnmap_params>(params).size));
        default:
            return;
    }
}

void Frees::after(nvbit_api_cuda_t cbid, bool succeeded) {
    switch (cbid) {
        case API_CUDA_cuMemFree_v2:
        case API_CUDA_cuMemFreeAsync:
        case API_CUDA_cuMemFreeAsync_ptsz:
        case API_CUDA_cuIpcCloseMemHandle:
        case API_CUDA_cuMemFreeHost:
        case API_CUDA_cuMemHostUnregister:
        case API_CUDA_cuMemUnmap: {
            if (freeing.empty()) return;
            const bool in_order = cbid == API_CUDA_cuMemFreeAsync || cbid == API_CUDA_cuMemFreeAsync_ptsz;
            const auto freed = in_order ? AddressMap::Freed::in_stream_order : AddressMap::Freed::now;
            const std::vector<Object> objects = *freeing.pop();
            memory_->freed(objects, succeeded ? freed : AddressMap::Freed::failed);
            if (succeeded && cbid == API_CUDA_cuMemUnmap) mappings_->unmapped(objects);
            if (in_order) pool_use_->look();
            return;
        }
        default:
            return;
    }
}

void Frees::look() {
    for (const Object& object : memory_->map().objects_in(0, UINT64_MAX)) {
        const bool of_one_call = object.kind == ObjectKind::device || object.kind == ObjectKind::managed || object.kind == ObjectKind::host;
        uint64_t start = 0;
        if (of_one_call && cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, object.address) == CUDA_ERROR_INVALID_VALUE)
            memory_->freed(memory_->freeing(object.address), AddressMap::Freed::now);
    }
}

}  // namespace snoopie
