// What driver calls copy, read from their parameters as NVBit hands them over.
#include <cstring>
#include <string>
#include <vector>

#include "calls/copy_calls.h"
#include "check.h"

using namespace snoopie;

namespace {

template <class Handle>
Handle handle(uint64_t value) {
    return reinterpret_cast<Handle>(value);
}

void* const kHost = handle<void*>(0x5000);
const CUstream kStream = handle<CUstream>(0x77);
const CUarray kArray = handle<CUarray>(0x88);

CopyCall only(const std::vector<CopyCall>& copies) {
    CHECK_EQ(copies.size(), 1u);
    return copies.empty() ? CopyCall{} : copies[0];
}

template <class Params>
CopyCall only(nvbit_api_cuda_t cbid, const Params& params) {
    return only(copy_calls(cbid, &params));
}

void is(const CopyEnd& end, MemoryType memory, uint64_t address) {
    CHECK_EQ(int(end.memory), int(memory));
    CHECK_EQ(end.address, address);
    CHECK(!end.owner);
}

void linear() {
    CopyCall copy = only(API_CUDA_cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_params{0x1000, kHost, 10});
    CHECK_EQ(int(copy.kind), int(CopyKind::linear));
    is(copy.source, MemoryType::host, 0x5000);
    is(copy.destination, MemoryType::device, 0x1000);
    CHECK_EQ(copy.size, 10u);
    CHECK(copy.stream == CU_STREAM_LEGACY && !copy.asynchronous);

    copy = only(API_CUDA_cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2_ptds_params{kHost, 0x1000, 11});
    is(copy.source, MemoryType::device, 0x1000);
    is(copy.destination, MemoryType::host, 0x5000);
    CHECK(copy.stream == CU_STREAM_PER_THREAD && !copy.asynchronous);

    copy = only(API_CUDA_cuMemcpyAsync, cuMemcpyAsync_params{0x1000, 0x2000, 12, kStream});
    is(copy.source, MemoryType::any, 0x2000);
    is(copy.destination, MemoryType::any, 0x1000);
    CHECK(copy.stream == kStream && copy.asynchronous);
    CHECK(only(API_CUDA_cuMemcpyAsync, cuMemcpyAsync_params{1, 2, 3, nullptr}).stream == CU_STREAM_LEGACY);
    CHECK(only(API_CUDA_cuMemcpyAsync_ptsz, cuMemcpyAsync_ptsz_params{1, 2, 3, nullptr}).stream == CU_STREAM_PER_THREAD);

    copy = only(API_CUDA_cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync_v2_params{kArray, 64, kHost, 13, kStream});
    is(copy.destination, MemoryType::array, 0);
    CHECK(copy.destination.array == kArray);
    CHECK(!copy.elements_of);
    CHECK_EQ(copy.size, 13u);

    copy =
        only(API_CUDA_cuMemcpyPeerAsync, cuMemcpyPeerAsync_params{0x1000, handle<CUcontext>(1), 0x2000, handle<CUcontext>(2), 14, kStream});
    is(copy.source, MemoryType::device, 0x2000);
    CHECK(copy.source.context == handle<CUcontext>(2) && copy.destination.context == handle<CUcontext>(1));

    is(only(API_CUDA_cuMemcpyDtoD, cuMemcpyDtoD_params{0x10, 0x20, 15}).source, MemoryType::device, 0x20);
}

void boxes() {
    CUDA_MEMCPY2D rectangle{};
    rectangle.srcXInBytes = 3;
    rectangle.srcY = 2;
    rectangle.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    rectangle.srcDevice = 0x1000;
    rectangle.srcPitch = 0x100;
    rectangle.dstMemoryType = CU_MEMORYTYPE_HOST;
    rectangle.dstHost = kHost;
    rectangle.dstPitch = 0x40;
    rectangle.WidthInBytes = 20;
    rectangle.Height = 5;
    CopyCall copy = only(API_CUDA_cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_params{&rectangle, kStream});
    CHECK_EQ(int(copy.kind), int(CopyKind::rectangle));
    is(copy.source, MemoryType::device, 0x1203);
    is(copy.destination, MemoryType::host, 0x5000);
    CHECK_EQ(copy.size, 100u);
    CHECK(copy.stream == kStream && copy.asynchronous);

    CUDA_MEMCPY3D cube{};
    cube.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    cube.srcArray = kArray;
    cube.srcZ = 1;
    cube.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    cube.dstDevice = 0x10000;
    cube.dstXInBytes = 1;
    cube.dstY = 2;
    cube.dstZ = 3;
    cube.dstPitch = 0x10;
    cube.dstHeight = 10;
    cube.WidthInBytes = 4;
    cube.Height = 5;
    cube.Depth = 6;
    copy = only(API_CUDA_cuMemcpy3D_v2, cuMemcpy3D_v2_params{&cube});
    CHECK_EQ(int(copy.kind), int(CopyKind::box));
    is(copy.source, MemoryType::array, 0);
    is(copy.destination, MemoryType::any, 0x10000 + (3 * 10 + 2) * 0x10 + 1);
    CHECK_EQ(copy.size, 120u);

    copy = copy_of_node(cube);
    CHECK_EQ(int(copy.kind), int(CopyKind::graph));
    CHECK_EQ(copy.size, 120u);
    CHECK(copy.asynchronous);

    CUDA_MEMCPY3D_PEER peers{};
    peers.srcMemoryType = peers.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    peers.srcContext = handle<CUcontext>(1);
    peers.dstContext = handle<CUcontext>(2);
    peers.WidthInBytes = peers.Height = peers.Depth = 2;
    copy = only(API_CUDA_cuMemcpy3DPeer, cuMemcpy3DPeer_params{&peers});
    CHECK_EQ(int(copy.kind), int(CopyKind::box));
    CHECK(copy.source.context == handle<CUcontext>(1) && copy.destination.context == handle<CUcontext>(2));
    CHECK_EQ(copy.size, 8u);

    CHECK(copy_calls(API_CUDA_cuMemcpy3DPeer, std::vector<char>(64).data()).empty());  // no description
}

void batches() {
    CUdeviceptr from[] = {0x1000, 0x2000};
    CUdeviceptr to[] = {0x3000, 0x4000};
    size_t size[] = {10, 20};
    cuMemcpyBatchAsync_v2_params params{};
    params.srcs = from;
    params.dsts = to;
    params.sizes = size;
    params.count = 2;
    params.hStream = kStream;
    const std::vector<CopyCall> copies = copy_calls(API_CUDA_cuMemcpyBatchAsync_v2, &params);
    CHECK_EQ(copies.size(), 2u);
    for (size_t i = 0; i < copies.size(); ++i) {
        CHECK_EQ(int(copies[i].kind), int(CopyKind::batch));
        is(copies[i].source, MemoryType::any, from[i]);
        is(copies[i].destination, MemoryType::any, to[i]);
        CHECK_EQ(copies[i].size, size[i]);
        CHECK(copies[i].stream == kStream && copies[i].asynchronous);
    }

    CUDA_MEMCPY3D_BATCH_OP op{};
    op.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = 0x1000;
    op.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    op.dst.op.array.array = kArray;
    op.extent = {2, 3, 4};
    const CopyCall copy = only(API_CUDA_cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_params{1, &op, 0, kStream});
    is(copy.source, MemoryType::any, 0x1000);
    is(copy.destination, MemoryType::array, 0);
    CHECK_EQ(copy.size, 24u);
    CHECK(copy.elements_of == kArray);
}

void prefetches() {
    const CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, 0};
    const CUmemLocation gpu{CU_MEM_LOCATION_TYPE_DEVICE, 3};
    CopyCall copy = only(API_CUDA_cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_params{0x1000, 10, gpu, 0, kStream});
    CHECK_EQ(int(copy.kind), int(CopyKind::prefetch));
    is(copy.source, MemoryType::any, 0x1000);
    CHECK_EQ(copy.destination.address, 0x1000u);
    CHECK(copy.destination.owner == uint8_t{3});
    CHECK(only(API_CUDA_cuMemPrefetchAsync, cuMemPrefetchAsync_params{1, 2, 1, kStream}).destination.owner == uint8_t{1});
    CHECK(only(API_CUDA_cuMemPrefetchAsync, cuMemPrefetchAsync_params{1, 2, CU_DEVICE_CPU, kStream}).destination.owner == kOwnerHost);

    CUdeviceptr addresses[] = {1, 2, 3};
    size_t sizes[] = {10, 20, 30};
    CUmemLocation locations[] = {gpu, host};
    size_t first[] = {0, 2};
    cuMemPrefetchBatchAsync_params params{};
    params.dptrs = addresses;
    params.sizes = sizes;
    params.count = 3;
    params.prefetchLocs = locations;
    params.prefetchLocIdxs = first;
    params.numPrefetchLocs = 2;
    const std::vector<CopyCall> copies = copy_calls(API_CUDA_cuMemPrefetchBatchAsync, &params);
    CHECK_EQ(copies.size(), 3u);
    for (size_t i = 0; i < copies.size(); ++i) {
        CHECK_EQ(copies[i].size, sizes[i]);
        CHECK(copies[i].destination.owner == (i < 2 ? uint8_t{3} : kOwnerHost));
    }
}

// Every call that NVBit knows by a name that says that it copies is read, those of a batch apart: their lists are empty here.
void complete() {
    static const uint64_t description[64] = {};
    const uint64_t zeros[64] = {};
    uint64_t addresses[64];  // of a description of no rectangle or box
    for (uint64_t& value : addresses) value = reinterpret_cast<uint64_t>(description);
    struct Call {
        nvbit_api_cuda_t cbid;
        std::string name;
    };
    const Call calls[] = {
#define NAME(area, id, name, extra) {API_CUDA_##name, #name},
        CU_TOOLS_FOR_EACH_CUDA_API_FUNC(NAME)
#undef NAME
    };
    int read = 0;
    for (const Call& call : calls) {
        if (call.name.find("Batch") != std::string::npos) continue;
        // NVBit knows no parameters of the former 64-bit calls (cu64...) and of cuMemcpy_v2, which no driver has.
        const bool copies = (call.name.rfind("cuMemcpy", 0) == 0 || call.name.rfind("cuMemPrefetch", 0) == 0) && call.name != "cuMemcpy_v2";
        const bool is_described = call.name.find("2D") != std::string::npos || call.name.find("3D") != std::string::npos;
        const size_t found = copy_calls(call.cbid, is_described ? addresses : zeros).size();
        if (found != copies) std::printf("%s: %zu\n", call.name.c_str(), found);
        CHECK_EQ(found, size_t{copies});
        read += copies;
    }
    CHECK(read > 60);
}

}  // namespace

int main() {
    linear();
    boxes();
    batches();
    prefetches();
    complete();
    return test::summary("copy_calls");
}
