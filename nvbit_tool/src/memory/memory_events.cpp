#include "memory/memory_events.h"

#include "calls/arrays.h"
#include "driver/thread_stack.h"

namespace snoopie {

namespace {

// Of this thread's calls that are between entry and exit: what they free, and the handles that they release.
thread_local ThreadStack<std::vector<Object>> freeing;
thread_local ThreadStack<PhysicalMemory::Release> releasing;
// The call whose exit this thread is in.
thread_local const char* calling = "";

template <class Params>
const Params& as(const void* params) {
    return *static_cast<const Params*>(params);
}

bool is_host(const CUmemLocation& location) {
    return location.type == CU_MEM_LOCATION_TYPE_HOST || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
           location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

bool allows(const CUmemAccessDesc& access) {
    return access.location.type == CU_MEM_LOCATION_TYPE_DEVICE && access.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

// Where the device sees pinned memory; with unified addressing it is nearly always where the host sees it.
CUdeviceptr device_address(void* host) {
    const OwnCalls own;
    CUdeviceptr address = 0;
    if (cuMemHostGetDevicePointer_v2(&address, host, 0) == CUDA_SUCCESS) return address;
    return reinterpret_cast<CUdeviceptr>(host);
}

}  // namespace

MemoryEvents::MemoryEvents(Memory* memory, TraceWriter* writer, std::vector<GpuInfo> gpus, PoolBytes* pool_bytes, GpuOf gpu_of,
                           MakerOf maker_of)
    : memory_(memory),
      writer_(writer),
      gpus_(std::move(gpus)),
      gpu_of_(std::move(gpu_of)),
      maker_of_(std::move(maker_of)),
      exports_(Exports::default_folder()),
      pool_use_(pool_bytes) {
    for (const GpuInfo& gpu : gpus_) visible_gpus_ += gpu.visible;
}

void MemoryEvents::before(nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMemFree_v2:
            freeing.push(memory_->freeing(as<cuMemFree_v2_params>(params).dptr));
            return;
        case API_CUDA_cuMemFreeAsync:
        case API_CUDA_cuMemFreeAsync_ptsz: {
            // In a capture it becomes a node: graph memory stays in the trace, because every launch of the graph uses it again.
            const auto& p = as<cuMemFreeAsync_params>(params);
            freeing.push(capturing(p.hStream) ? std::vector<Object>() : memory_->freeing(p.dptr));
            return;
        }
        case API_CUDA_cuIpcCloseMemHandle:
            freeing.push(memory_->freeing(as<cuIpcCloseMemHandle_params>(params).dptr));
            return;
        case API_CUDA_cuMemFreeHost:
            freeing.push(memory_->freeing(device_address(as<cuMemFreeHost_params>(params).p)));
            return;
        case API_CUDA_cuMemHostUnregister:
            freeing.push(memory_->freeing(device_address(as<cuMemHostUnregister_params>(params).p)));
            return;
        case API_CUDA_cuMemCreate:
            exports_.tidy();
            return;
        case API_CUDA_cuMemRelease:
            releasing.push(physical_.releasing(as<cuMemRelease_params>(params).handle));
            return;
        case API_CUDA_cuMemPoolDestroy:
            pool_use_.destroyed(as<cuMemPoolDestroy_params>(params).pool);
            return;
        case API_CUDA_cuMemUnmap:
            exports_.tidy();
            freeing.push(memory_->unmapping(as<cuMemUnmap_params>(params).ptr, as<cuMemUnmap_params>(params).size));
            return;
        default:
            return;
    }
}

void MemoryEvents::after(CUcontext context, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded) {
    calling = name;
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
            if (succeeded && cbid == API_CUDA_cuMemUnmap) unmapped(objects);
            if (in_order) pool_use_.look();
            return;
        }
        case API_CUDA_cuMemRelease: {
            const auto release = releasing.pop();
            if (release) ended(physical_.released(*release, succeeded));
            if (succeeded) released(as<cuMemRelease_params>(params).handle);
            return;
        }
        default:
            if (succeeded) allocated(context, cbid, params);
    }
}

void MemoryEvents::allocated(CUcontext context, nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMemAlloc_v2: {
            const auto& p = as<cuMemAlloc_v2_params>(params);
            return add(*p.dptr, p.bytesize, owner_in(context), ObjectKind::device, context);
        }
        case API_CUDA_cuMemAllocPitch_v2: {
            const auto& p = as<cuMemAllocPitch_v2_params>(params);
            return add(*p.dptr, *p.pPitch * p.Height, owner_in(context), ObjectKind::device, context);
        }
        case API_CUDA_cuMemAllocManaged: {
            // The host's until it is placed on a GPU.
            const auto& p = as<cuMemAllocManaged_params>(params);
            return add(*p.dptr, p.bytesize, kOwnerHost, ObjectKind::managed, nullptr);
        }
        case API_CUDA_cuMemHostAlloc: {
            const auto& p = as<cuMemHostAlloc_params>(params);
            return add(device_address(*p.pp), p.bytesize, kOwnerHost, ObjectKind::host, context);
        }
        case API_CUDA_cuMemAllocHost_v2: {
            const auto& p = as<cuMemAllocHost_v2_params>(params);
            return add(device_address(*p.pp), p.bytesize, kOwnerHost, ObjectKind::host, context);
        }
        case API_CUDA_cuMemHostRegister_v2: {
            const auto& p = as<cuMemHostRegister_v2_params>(params);
            return add(device_address(p.p), p.bytesize, kOwnerHost, ObjectKind::registered, context);
        }

        case API_CUDA_cuMemAllocAsync:
        case API_CUDA_cuMemAllocAsync_ptsz: {
            const auto& p = as<cuMemAllocAsync_params>(params);
            return from_pool(gpu_of_(context), *p.dptr, p.bytesize, nullptr, p.hStream);
        }
        case API_CUDA_cuMemAllocFromPoolAsync:
        case API_CUDA_cuMemAllocFromPoolAsync_ptsz: {
            const auto& p = as<cuMemAllocFromPoolAsync_params>(params);
            return from_pool(gpu_of_(context), *p.dptr, p.bytesize, p.pool, p.hStream);
        }
        case API_CUDA_cuMemPoolCreate: {
            const auto& p = as<cuMemPoolCreate_params>(params);
            std::unique_lock lock(mutex_);
            pools_[*p.pool] = owner_at(p.poolProps->location);
            return;
        }
        // Then the driver gives back what pools hold beyond their thresholds.
        case API_CUDA_cuMemPoolTrimTo:
        case API_CUDA_cuCtxSynchronize:
        case API_CUDA_cuEventSynchronize:
        case API_CUDA_cuStreamSynchronize:
        case API_CUDA_cuStreamSynchronize_ptsz:
            return pool_use_.look();
        case API_CUDA_cuMemPoolSetAccess: {
            const auto& p = as<cuMemPoolSetAccess_params>(params);
            return pool_access(p.pool, p.map, p.count);
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

        case API_CUDA_cuMemCreate:
            return created(as<cuMemCreate_params>(params));
        case API_CUDA_cuMemRetainAllocationHandle:
            return retained(as<cuMemRetainAllocationHandle_params>(params));
        case API_CUDA_cuMemMap:
            return mapped(as<cuMemMap_params>(params));
        case API_CUDA_cuMemSetAccess: {
            const auto& p = as<cuMemSetAccess_params>(params);
            return access_set(p.ptr, p.size, p.desc, p.count);
        }
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
            return add_import(*p.pdptr, imported_owner(&p.handle, sizeof p.handle), gpu_of_(context), context);
        }
        case API_CUDA_cuMemPoolExportPointer: {
            const auto& p = as<cuMemPoolExportPointer_params>(params);
            return publish(p.shareData_out, sizeof *p.shareData_out, memory_->map().owner_of(p.ptr).value_or(kOwnerUnknown));
        }
        case API_CUDA_cuMemPoolImportPointer:
            return pool_imported(gpu_of_(context), as<cuMemPoolImportPointer_params>(params));

        case API_CUDA_cuMemAdvise: {
            const auto& p = as<cuMemAdvise_params>(params);
            if (p.advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) memory_->managed_moved(p.devPtr, p.count, owner_at(p.device));
            return;
        }
        case API_CUDA_cuMemAdvise_v2: {
            const auto& p = as<cuMemAdvise_v2_params>(params);
            if (p.advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) memory_->managed_moved(p.devPtr, p.count, owner_at(p.location));
            return;
        }
        case API_CUDA_cuMemPrefetchAsync:
        case API_CUDA_cuMemPrefetchAsync_ptsz: {
            const auto& p = as<cuMemPrefetchAsync_params>(params);
            return memory_->managed_moved(p.devPtr, p.count, owner_at(p.dstDevice));
        }
        case API_CUDA_cuMemPrefetchAsync_v2:
        case API_CUDA_cuMemPrefetchAsync_v2_ptsz: {
            const auto& p = as<cuMemPrefetchAsync_v2_params>(params);
            return memory_->managed_moved(p.devPtr, p.count, owner_at(p.location));
        }
        case API_CUDA_cuMemPrefetchBatchAsync:
        case API_CUDA_cuMemPrefetchBatchAsync_ptsz:
        case API_CUDA_cuMemDiscardAndPrefetchBatchAsync:
        case API_CUDA_cuMemDiscardAndPrefetchBatchAsync_ptsz: {
            const auto& p = as<cuMemPrefetchBatchAsync_params>(params);
            // Range i goes to the last location whose index is not beyond i.
            for (size_t i = 0, place = 0; i < p.count; ++i) {
                while (place + 1 < p.numPrefetchLocs && p.prefetchLocIdxs[place + 1] <= i) ++place;
                memory_->managed_moved(p.dptrs[i], p.sizes[i], owner_at(p.prefetchLocs[place]));
            }
            return;
        }

        case API_CUDA_cuArrayCreate_v2: {
            const auto& p = as<cuArrayCreate_v2_params>(params);
            CUDA_ARRAY3D_DESCRIPTOR shape{};
            shape.Width = p.pAllocateArray->Width;
            shape.Height = p.pAllocateArray->Height;
            shape.Format = p.pAllocateArray->Format;
            shape.NumChannels = p.pAllocateArray->NumChannels;
            return array_created(*p.pHandle, shape, context);
        }
        case API_CUDA_cuArray3DCreate_v2: {
            const auto& p = as<cuArray3DCreate_v2_params>(params);
            return array_created(*p.pHandle, *p.pAllocateArray, context);
        }
        case API_CUDA_cuArrayDestroy:
            return array_destroyed(as<cuArrayDestroy_params>(params).hArray);

        case API_CUDA_cuCtxEnablePeerAccess:
            return peer_access(context, as<cuCtxEnablePeerAccess_params>(params).peerContext, true);
        case API_CUDA_cuCtxDisablePeerAccess:
            return peer_access(context, as<cuCtxDisablePeerAccess_params>(params).peerContext, false);

        case API_CUDA_cuMulticastCreate:
            multicast_added(*as<cuMulticastCreate_params>(params).mcHandle, -1);
            return;
        case API_CUDA_cuMulticastAddDevice: {
            const auto& p = as<cuMulticastAddDevice_params>(params);
            return multicast_added(p.mcHandle, p.dev);
        }
        default:
            return;
    }
}

void MemoryEvents::add(CUdeviceptr address, size_t bytes, uint8_t owner, ObjectKind kind, CUcontext context) {
    Object object;
    object.address = address;
    object.bytes = bytes;
    object.owner = owner;
    object.kind = kind;
    object.context = reinterpret_cast<uint64_t>(context);
    memory_->allocated(object, maker());
}

Maker MemoryEvents::maker() const { return maker_of_(calling); }

void MemoryEvents::program_exits() {
    pool_use_.look_now();
    exports_.close();
}

void MemoryEvents::look_for_freed() {
    for (const Object& object : memory_->map().objects_in(0, UINT64_MAX)) {
        const bool of_one_call = object.kind == ObjectKind::device || object.kind == ObjectKind::managed || object.kind == ObjectKind::host;
        uint64_t start = 0;
        if (of_one_call && cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, object.address) == CUDA_ERROR_INVALID_VALUE)
            memory_->freed(memory_->freeing(object.address), AddressMap::Freed::now);
    }
}

// --- Owners ---

uint8_t MemoryEvents::owner_in(CUcontext context) const {
    const int gpu = gpu_of_(context);
    return gpu < 0 ? kOwnerUnknown : static_cast<uint8_t>(gpu);
}

uint8_t MemoryEvents::owner_at(CUdevice device) const {
    if (device == CU_DEVICE_CPU) return kOwnerHost;
    if (device >= 0 && static_cast<size_t>(device) < visible_gpus_) return static_cast<uint8_t>(device);
    // A GPU that this process does not see: known only where there is just one of them.
    return gpus_.size() == visible_gpus_ + 1 ? static_cast<uint8_t>(visible_gpus_) : kOwnerUnknown;
}

uint8_t MemoryEvents::owner_at(const CUmemLocation& location) const {
    if (is_host(location)) return kOwnerHost;
    return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? owner_at(location.id) : kOwnerUnknown;
}

uint8_t MemoryEvents::owner_by_uuid(const std::string& uuid) const {
    for (size_t gpu = 0; gpu < gpus_.size(); ++gpu)
        if (gpus_[gpu].uuid == uuid) return static_cast<uint8_t>(gpu);
    return kOwnerUnknown;
}

void MemoryEvents::publish(const void* handle, size_t bytes, uint8_t owner) {
    if (owner < gpus_.size()) exports_.publish({static_cast<const char*>(handle), bytes}, gpus_[owner].uuid);
}

uint8_t MemoryEvents::imported_owner(const void* handle, size_t bytes) const {
    const auto uuid = exports_.find({static_cast<const char*>(handle), bytes});
    return uuid ? owner_by_uuid(*uuid) : kOwnerUnknown;
}

// --- Pools and graphs ---

uint8_t MemoryEvents::owner_of_pool(CUmemoryPool pool, CUdeviceptr allocated, int gpu) const {
    {
        std::unique_lock lock(mutex_);
        const auto found = pools_.find(pool);
        if (pool && found != pools_.end()) return found->second;
    }
    const OwnCalls own;
    for (size_t device = 0; pool && device < visible_gpus_; ++device) {
        CUmemoryPool usual = nullptr;
        if (cuDeviceGetDefaultMemPool(&usual, static_cast<CUdevice>(device)) == CUDA_SUCCESS && usual == pool)
            return static_cast<uint8_t>(device);
    }
    int device = -1;
    if (allocated && cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, allocated) == CUDA_SUCCESS)
        return owner_at(device);
    return gpu < 0 ? kOwnerUnknown : static_cast<uint8_t>(gpu);
}

void MemoryEvents::from_pool(int gpu, CUdeviceptr address, size_t bytes, CUmemoryPool pool, CUstream stream) {
    const ObjectKind kind = capturing(stream) ? ObjectKind::graph : ObjectKind::pool;
    const uint8_t owner = owner_of_pool(pool, address, gpu);
    add(address, bytes, owner, kind, nullptr);
    if (kind == ObjectKind::pool) pool_use_.used(pool, owner);
}

void MemoryEvents::pool_access(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count) {
    const uint8_t owner = owner_of_pool(pool, 0, -1);
    for (size_t i = 0; i < count; ++i) {
        if (!allows(access[i])) continue;
        if (owner < kMaxGpus) memory_->reach().grant(owner_at(access[i].location), owner);
        for (size_t gpu = 0; owner == kOwnerUnknown && gpu < gpus_.size(); ++gpu)
            memory_->reach().grant(owner_at(access[i].location), static_cast<uint8_t>(gpu));
    }
}

template <class Node>
void MemoryEvents::graph_allocated(const Node& node) {
    add(node.dptr, node.bytesize, owner_at(node.poolProps.location), ObjectKind::graph, nullptr);
    access_set(node.dptr, node.bytesize, node.accessDescs, node.accessDescCount);
}

// --- Mappings ---

void MemoryEvents::created(const cuMemCreate_params& call) {
    Object object;
    object.bytes = call.size;
    object.owner = owner_at(call.prop->location);
    object.kind = ObjectKind::physical;
    physical_.created(*call.handle, memory_->listed(object, maker()));
}

void MemoryEvents::retained(const cuMemRetainAllocationHandle_params& call) {
    for (const Object& mapping : memory_->map().objects_in(reinterpret_cast<uint64_t>(call.addr), 1))
        physical_.retained(*call.handle, mapping.id);
}

void MemoryEvents::released(CUmemGenericAllocationHandle handle) {
    exports_.tidy();
    sets_.release(handle);
    std::unique_lock lock(mutex_);
    imported_.erase(handle);
}

void MemoryEvents::unmapped(const std::vector<Object>& mappings) {
    for (const Object& mapping : mappings) ended(physical_.unmapped(mapping.id));
}

void MemoryEvents::ended(uint32_t allocation) {
    if (allocation != 0) memory_->ended(allocation);
}

void MemoryEvents::mapped(const cuMemMap_params& call) {
    Object object;
    object.address = call.ptr;
    object.bytes = call.size;
    object.owner = kOwnerUnknown;
    object.kind = ObjectKind::mapping;
    object.inside = physical_.mapping(call.handle);
    if (const auto set = sets_.owner(call.handle)) {
        object.owner = *set;
        object.kind = ObjectKind::multicast;
    } else {
        // Asked now, while the handle lives: NVSHMEM and NCCL release it at once.
        const OwnCalls own;
        CUmemAllocationProp properties{};
        if (cuMemGetAllocationPropertiesFromHandle(&properties, call.handle) == CUDA_SUCCESS) object.owner = owner_at(properties.location);
        std::unique_lock lock(mutex_);
        const auto found = imported_.find(call.handle);
        if (found != imported_.end()) {
            object.kind = ObjectKind::import;
            if (found->second != kOwnerUnknown) object.owner = found->second;
        }
    }
    physical_.mapped(object.inside, memory_->allocated(object, maker()));
}

void MemoryEvents::access_set(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
    const std::vector<Object> objects = memory_->map().objects_in(address, bytes);
    for (size_t i = 0; access && i < count; ++i)
        for (const Object& object : objects)
            if (allows(access[i])) memory_->reach().grant(owner_at(access[i].location), object.owner);
}

void MemoryEvents::peer_access(CUcontext issuer, CUcontext owner, bool enabled) {
    const int from = gpu_of_(issuer);
    const int to = gpu_of_(owner);
    if (from >= 0 && to >= 0) memory_->reach().enable_peer(static_cast<uint8_t>(from), static_cast<uint8_t>(to), enabled);
}

// --- Other processes ---

void MemoryEvents::exported(const cuMemExportToShareableHandle_params& call) {
    const OwnCalls calls;
    CUmemAllocationProp properties{};
    if (cuMemGetAllocationPropertiesFromHandle(&properties, call.handle) != CUDA_SUCCESS) return;
    const uint8_t owner = owner_at(properties.location);
    if (owner >= gpus_.size()) return;
    if (call.handleType == CU_MEM_HANDLE_TYPE_FABRIC) publish(call.shareableHandle, sizeof(CUmemFabricHandle), owner);
    // Where each process sees all GPUs, the driver tells the importer.
    if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && visible_gpus_ < gpus_.size())
        exports_.publish_descriptor(*static_cast<const int*>(call.shareableHandle), gpus_[owner].uuid);
}

void MemoryEvents::imported(const cuMemImportFromShareableHandle_params& call) {
    uint8_t owner = kOwnerUnknown;
    if (call.shHandleType == CU_MEM_HANDLE_TYPE_FABRIC) owner = imported_owner(call.osHandle, sizeof(CUmemFabricHandle));
    if (call.shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && visible_gpus_ < gpus_.size()) {
        const auto uuid = exports_.find_descriptor(static_cast<int>(reinterpret_cast<intptr_t>(call.osHandle)));
        if (uuid) owner = owner_by_uuid(*uuid);
    }
    std::unique_lock lock(mutex_);
    imported_[*call.handle] = owner;
}

void MemoryEvents::pool_imported(int gpu, const cuMemPoolImportPointer_params& call) {
    uint8_t owner = imported_owner(call.shareData, sizeof *call.shareData);
    const OwnCalls own;
    int device = -1;
    // Of a pool on a GPU that this process does not see, the driver names the importer's own.
    if (owner == kOwnerUnknown && visible_gpus_ == gpus_.size() &&
        cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, *call.ptr_out) == CUDA_SUCCESS)
        owner = owner_at(device);
    add_import(*call.ptr_out, owner, gpu, nullptr);
}

void MemoryEvents::add_import(CUdeviceptr address, uint8_t owner, int gpu, CUcontext context) {
    const OwnCalls own;
    CUdeviceptr base = address;
    size_t bytes = 0;
    if (cuMemGetAddressRange_v2(&base, &bytes, address) != CUDA_SUCCESS) bytes = 1ull << kPageBits;
    add(address, bytes - (address - base), owner, ObjectKind::import, context);
    if (gpu >= 0) memory_->reach().grant(static_cast<uint8_t>(gpu), owner);
}

// --- Arrays and multicast objects ---

void MemoryEvents::array_created(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR& shape, CUcontext context) {
    Object object;
    object.bytes = shape.Width * std::max<uint64_t>(shape.Height, 1) * std::max<uint64_t>(shape.Depth, 1) * element_bytes(shape);
    object.owner = owner_in(context);
    object.kind = ObjectKind::array;
    const Maker by = maker();
    std::unique_lock lock(mutex_);
    arrays_[array] = {memory_->listed(object, by), context};
}

void MemoryEvents::array_destroyed(CUarray array) {
    std::unique_lock lock(mutex_);
    const auto found = arrays_.find(array);
    if (found == arrays_.end()) return;
    memory_->ended(found->second.object);
    arrays_.erase(found);
}

void MemoryEvents::context_ending(CUcontext context) {
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

// A member joins the object, or with -1 the object is made. One that this process has not made was imported: it has members elsewhere.
void MemoryEvents::multicast_added(CUmemGenericAllocationHandle handle, CUdevice device) {
    bool is_new = false;
    const auto owner = sets_.add(handle, &is_new);
    if (!owner) return;
    if (is_new && device >= 0) writer_->append(SetRow{*owner, kOwnerUnknown});
    if (device >= 0) writer_->append(SetRow{*owner, owner_at(device)});
}

}  // namespace snoopie
