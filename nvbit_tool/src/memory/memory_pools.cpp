#include "memory/memory_pools.h"

#include "memory/call_params.h"

namespace snoopie {

void MemoryPools::before(nvbit_api_cuda_t cbid, const void* params) {
    if (cbid == API_CUDA_cuMemPoolDestroy) use_.destroyed(as<cuMemPoolDestroy_params>(params).pool);
}

void MemoryPools::after(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMemAllocAsync:
        case API_CUDA_cuMemAllocAsync_ptsz: {
            const auto& p = as<cuMemAllocAsync_params>(params);
            return allocated(owners_->gpu_of(context), *p.dptr, p.bytesize, nullptr, p.hStream);
        }
        case API_CUDA_cuMemAllocFromPoolAsync:
        case API_CUDA_cuMemAllocFromPoolAsync_ptsz: {
            const auto& p = as<cuMemAllocFromPoolAsync_params>(params);
            return allocated(owners_->gpu_of(context), *p.dptr, p.bytesize, p.pool, p.hStream);
        }
        case API_CUDA_cuMemPoolCreate: {
            const auto& p = as<cuMemPoolCreate_params>(params);
            std::unique_lock lock(mutex_);
            pools_[*p.pool] = owners_->at(p.poolProps->location);
            return;
        }
        // Then the driver gives back what pools hold beyond their thresholds.
        case API_CUDA_cuMemPoolTrimTo:
        case API_CUDA_cuCtxSynchronize:
        case API_CUDA_cuEventSynchronize:
        case API_CUDA_cuStreamSynchronize:
        case API_CUDA_cuStreamSynchronize_ptsz:
            return use_.look();
        case API_CUDA_cuMemPoolSetAccess: {
            const auto& p = as<cuMemPoolSetAccess_params>(params);
            return access_set(p.pool, p.map, p.count);
        }
        case API_CUDA_cuGraphAddMemAllocNode:
            return graph_allocated(*as<cuGraphAddMemAllocNode_params>(params).nodeParams);
        case API_CUDA_cuGraphAddNode:
        case API_CUDA_cuGraphAddNode_v2: {
            const CUgraphNodeParams* node = cbid == API_CUDA_cuGraphAddNode ? as<cuGraphAddNode_params>(params).nodeParams
                                                                            : as<cuGraphAddNode_v2_params>(params).nodeParams;
            if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) graph_allocated(node->alloc);
            return;
        }
        default:
            return;
    }
}

uint8_t MemoryPools::owner_of(CUmemoryPool pool, CUdeviceptr allocated, int gpu) const {
    {
        std::unique_lock lock(mutex_);
        const auto found = pools_.find(pool);
        if (pool && found != pools_.end()) return found->second;
    }
    const OwnCalls own;
    for (size_t device = 0; pool && device < owners_->visible_gpus(); ++device) {
        CUmemoryPool usual = nullptr;
        if (cuDeviceGetDefaultMemPool(&usual, static_cast<CUdevice>(device)) == CUDA_SUCCESS && usual == pool)
            return static_cast<uint8_t>(device);
    }
    int device = -1;
    if (allocated && cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, allocated) == CUDA_SUCCESS)
        return owners_->at(device);
    return DeviceOwners::of_gpu(gpu);
}

void MemoryPools::allocated(int gpu, CUdeviceptr address, size_t bytes, CUmemoryPool pool, CUstream stream) {
    const ObjectKind kind = capturing(stream) ? ObjectKind::graph : ObjectKind::pool;
    const uint8_t owner = owner_of(pool, address, gpu);
    objects_->add(address, bytes, owner, kind, nullptr);
    if (kind == ObjectKind::pool) use_.used(pool, owner);
}

void MemoryPools::access_set(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count) {
    const uint8_t owner = owner_of(pool, 0, -1);
    for (size_t i = 0; i < count; ++i) {
        if (!allows(access[i])) continue;
        if (owner < kMaxGpus) memory_->reach().grant(owners_->at(access[i].location), owner);
        for (size_t gpu = 0; owner == kOwnerUnknown && gpu < owners_->gpus(); ++gpu)
            memory_->reach().grant(owners_->at(access[i].location), static_cast<uint8_t>(gpu));
    }
}

template <class Node>
void MemoryPools::graph_allocated(const Node& node) {
    objects_->add(node.dptr, node.bytesize, owners_->at(node.poolProps.location), ObjectKind::graph, nullptr);
    access_->set(node.dptr, node.bytesize, node.accessDescs, node.accessDescCount);
}

}  // namespace snoopie
