#include "calls/copy_calls.h"

#include <type_traits>

#include "driver/driver.h"

namespace snoopie {

namespace {

CopyEnd any(CUdeviceptr address) { return {MemoryType::any, address}; }
CopyEnd host(const void* address) { return {MemoryType::host, reinterpret_cast<uint64_t>(address)}; }
CopyEnd device(CUdeviceptr address) { return {MemoryType::device, address}; }
CopyEnd array(CUarray handle) { return {MemoryType::array, 0, handle}; }

CopyEnd at(const CUmemLocation& location) {
    CopyEnd end;
    switch (location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            end.owner = owner_of_device(location.id);
            break;
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            end.owner = kOwnerHost;
            break;
        default:
            end.owner = kOwnerUnknown;
    }
    return end;
}

template <class Params, class = void>
constexpr bool has_stream = false;
template <class Params>
constexpr bool has_stream<Params, std::void_t<decltype(Params::hStream)>> = true;

// A call without a stream works in the default one and returns when it is done.
template <class Params>
CopyCall in_stream(CopyCall copy, const Params& p, bool per_thread) {
    if constexpr (has_stream<Params>) {
        copy.stream = stream_of(p.hStream, per_thread);
        copy.asynchronous = true;
    } else {
        copy.stream = stream_of(nullptr, per_thread);
    }
    return copy;
}

// --- One range of bytes. The operands of these calls have the same names wherever they are of the same sort. ---

template <class Params>
auto source(const Params& p) -> decltype(void(p.src), CopyEnd()) {
    return any(p.src);
}
template <class Params>
auto source(const Params& p) -> decltype(void(p.srcHost), CopyEnd()) {
    return host(p.srcHost);
}
template <class Params>
auto source(const Params& p) -> decltype(void(p.srcDevice), CopyEnd()) {
    return device(p.srcDevice);
}
template <class Params>
auto source(const Params& p) -> decltype(void(p.srcArray), CopyEnd()) {
    return array(p.srcArray);
}
template <class Params>
auto destination(const Params& p) -> decltype(void(p.dst), CopyEnd()) {
    return any(p.dst);
}
template <class Params>
auto destination(const Params& p) -> decltype(void(p.dstHost), CopyEnd()) {
    return host(p.dstHost);
}
template <class Params>
auto destination(const Params& p) -> decltype(void(p.dstDevice), CopyEnd()) {
    return device(p.dstDevice);
}
template <class Params>
auto destination(const Params& p) -> decltype(void(p.dstArray), CopyEnd()) {
    return array(p.dstArray);
}

template <class Params>
std::vector<CopyCall> linear(const Params& p, bool per_thread) {
    return {in_stream({CopyKind::linear, source(p), destination(p), p.ByteCount}, p, per_thread)};
}

template <class Params>
std::vector<CopyCall> peer(const Params& p, bool per_thread) {
    CopyCall copy{CopyKind::linear, source(p), destination(p), p.ByteCount};
    copy.source.context = p.srcContext;
    copy.destination.context = p.dstContext;
    return {in_stream(copy, p, per_thread)};
}

// --- Rectangles and boxes ---

template <class Box, class = void>
constexpr bool has_depth = false;
template <class Box>
constexpr bool has_depth<Box, std::void_t<decltype(Box::Depth)>> = true;
template <class Box, class = void>
constexpr bool has_contexts = false;
template <class Box>
constexpr bool has_contexts<Box, std::void_t<decltype(Box::srcContext)>> = true;

CopyEnd operand(CUmemorytype type, const void* host_address, CUdeviceptr device_address, CUarray handle, uint64_t offset) {
    CopyEnd end;
    switch (type) {
        case CU_MEMORYTYPE_HOST:
            end = host(host_address);
            break;
        case CU_MEMORYTYPE_DEVICE:
            end = device(device_address);
            break;
        case CU_MEMORYTYPE_ARRAY:
            return array(handle);
        default:  // CU_MEMORYTYPE_UNIFIED
            end = any(device_address);
    }
    end.address += offset;
    return end;
}

// CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, or an older version of one.
template <class Box>
CopyCall of_box(const Box& b) {
    uint64_t source_row = b.srcY;
    uint64_t destination_row = b.dstY;
    uint64_t bytes = uint64_t{b.WidthInBytes} * b.Height;
    if constexpr (has_depth<Box>) {
        source_row += uint64_t{b.srcZ} * b.srcHeight;
        destination_row += uint64_t{b.dstZ} * b.dstHeight;
        bytes *= b.Depth;
    }
    CopyCall copy;
    copy.kind = has_depth<Box> ? CopyKind::box : CopyKind::rectangle;
    copy.source = operand(b.srcMemoryType, b.srcHost, b.srcDevice, b.srcArray, source_row * b.srcPitch + b.srcXInBytes);
    copy.destination = operand(b.dstMemoryType, b.dstHost, b.dstDevice, b.dstArray, destination_row * b.dstPitch + b.dstXInBytes);
    copy.size = bytes;
    if constexpr (has_contexts<Box>) {
        copy.source.context = b.srcContext;
        copy.destination.context = b.dstContext;
    }
    return copy;
}

template <class Params>
std::vector<CopyCall> box(const Params& p, bool per_thread) {
    if (!p.pCopy) return {};
    return {in_stream(of_box(*p.pCopy), p, per_thread)};
}

// --- Batches ---

template <class Params>
std::vector<CopyCall> batch(const Params& p, bool per_thread) {
    std::vector<CopyCall> copies;
    if (!p.dsts || !p.srcs || !p.sizes) return copies;
    for (size_t i = 0; i < p.count; ++i)
        copies.push_back(in_stream({CopyKind::batch, any(p.srcs[i]), any(p.dsts[i]), p.sizes[i]}, p, per_thread));
    return copies;
}

CopyEnd operand(const CUmemcpy3DOperand& side) {
    return side.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? array(side.op.array.array) : any(side.op.ptr.ptr);
}

template <class Params>
std::vector<CopyCall> box_batch(const Params& p, bool per_thread) {
    std::vector<CopyCall> copies;
    if (!p.opList) return copies;
    for (size_t i = 0; i < p.numOps; ++i) {
        const CUDA_MEMCPY3D_BATCH_OP& op = p.opList[i];
        CopyCall copy{CopyKind::batch, operand(op.src), operand(op.dst), uint64_t{op.extent.width} * op.extent.height * op.extent.depth};
        // With an array at either end the extent is in its elements, else in bytes.
        copy.elements_of = copy.source.array ? copy.source.array : copy.destination.array;
        copies.push_back(in_stream(copy, p, per_thread));
    }
    return copies;
}

// --- Prefetches: from wherever the pages are, to the same addresses elsewhere ---

CopyCall moved(CUdeviceptr address, size_t bytes, const CUmemLocation& to) {
    CopyCall copy{CopyKind::prefetch, any(address), at(to), bytes};
    copy.destination.address = address;
    return copy;
}

template <class Params>
std::vector<CopyCall> prefetch_to_device(const Params& p, bool per_thread) {
    const bool host = p.dstDevice == CU_DEVICE_CPU;
    const CUmemLocation to{host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, p.dstDevice};
    return {in_stream(moved(p.devPtr, p.count, to), p, per_thread)};
}

template <class Params>
std::vector<CopyCall> prefetch(const Params& p, bool per_thread) {
    return {in_stream(moved(p.devPtr, p.count, p.location), p, per_thread)};
}

template <class Params>
std::vector<CopyCall> prefetch_batch(const Params& p, bool per_thread) {
    std::vector<CopyCall> copies;
    if (!p.dptrs || !p.sizes || !p.prefetchLocs || !p.prefetchLocIdxs || p.numPrefetchLocs == 0) return copies;
    size_t location = 0;  // each holds from its index to the next one's
    for (size_t i = 0; i < p.count; ++i) {
        while (location + 1 < p.numPrefetchLocs && p.prefetchLocIdxs[location + 1] <= i) ++location;
        copies.push_back(in_stream(moved(p.dptrs[i], p.sizes[i], p.prefetchLocs[location]), p, per_thread));
    }
    return copies;
}

}  // namespace

CopyCall copy_of_node(const CUDA_MEMCPY3D& node) {
    CopyCall copy = of_box(node);
    copy.kind = CopyKind::graph;
    copy.asynchronous = true;
    return copy;
}

std::vector<CopyCall> copy_calls(nvbit_api_cuda_t cbid, const void* params) {
#define CALL(call, read, per_thread) \
    case API_CUDA_##call:            \
        return read(*static_cast<const call##_params*>(params), per_thread);
// The second works in streams of the calling thread.
#define BOTH(call, per_thread_call, read) CALL(call, read, false) CALL(per_thread_call, read, true)
    // clang-format off
    switch (cbid) {
        BOTH(cuMemcpy, cuMemcpy_ptds, linear)
        BOTH(cuMemcpyAsync, cuMemcpyAsync_ptsz, linear)
        BOTH(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, linear)
        BOTH(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, linear)
        BOTH(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, linear)
        BOTH(cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds, linear)
        BOTH(cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds, linear)
        BOTH(cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds, linear)
        BOTH(cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds, linear)
        BOTH(cuMemcpyAtoA_v2, cuMemcpyAtoA_v2_ptds, linear)
        BOTH(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, linear)
        BOTH(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, linear)
        BOTH(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, linear)
        BOTH(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync_v2_ptsz, linear)
        BOTH(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync_v2_ptsz, linear)
        BOTH(cuMemcpyPeer, cuMemcpyPeer_ptds, peer)
        BOTH(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, peer)
        BOTH(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, box)
        BOTH(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, box)
        BOTH(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz, box)
        BOTH(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, box)
        BOTH(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz, box)
        BOTH(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, box)
        BOTH(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz, box)
        BOTH(cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz, batch)
        BOTH(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz, batch)
        BOTH(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz, box_batch)
        BOTH(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz, box_batch)
        BOTH(cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz, prefetch_to_device)
        BOTH(cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz, prefetch)
        BOTH(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync_ptsz, prefetch_batch)
        BOTH(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz, prefetch_batch)
        // As they were before CUDA 3.2.
        CALL(cuMemcpyHtoD, linear, false)
        CALL(cuMemcpyDtoH, linear, false)
        CALL(cuMemcpyDtoD, linear, false)
        CALL(cuMemcpyDtoA, linear, false)
        CALL(cuMemcpyAtoD, linear, false)
        CALL(cuMemcpyHtoA, linear, false)
        CALL(cuMemcpyAtoH, linear, false)
        CALL(cuMemcpyAtoA, linear, false)
        CALL(cuMemcpyHtoDAsync, linear, false)
        CALL(cuMemcpyDtoHAsync, linear, false)
        CALL(cuMemcpyDtoDAsync, linear, false)
        CALL(cuMemcpyHtoAAsync, linear, false)
        CALL(cuMemcpyAtoHAsync, linear, false)
        CALL(cuMemcpy2D, box, false)
        CALL(cuMemcpy2DUnaligned, box, false)
        CALL(cuMemcpy2DAsync, box, false)
        CALL(cuMemcpy3D, box, false)
        CALL(cuMemcpy3DAsync, box, false)
        default:
            return {};
    }
        // clang-format on
#undef BOTH
#undef CALL
}

}  // namespace snoopie
