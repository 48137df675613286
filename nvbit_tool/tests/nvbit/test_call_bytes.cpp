// How much memory driver calls set or allocate, read from their parameters as NVBit hands them over.
#include "calls/call_bytes.h"

#include "check.h"
#include "driver/driver.h"

using namespace snoopie;

namespace {

const CUstream kStream = reinterpret_cast<CUstream>(0x77);
const CUstream kCapturing = reinterpret_cast<CUstream>(0x78);

template <class Params>
void is(nvbit_api_cuda_t cbid, const Params& params, uint64_t bytes) {
    CHECK_EQ(call_bytes(cbid, &params), bytes);
}

}  // namespace

bool snoopie::capturing(CUstream stream) { return stream == kCapturing; }

int main() {
    CUdeviceptr address = 0;
    void* host = nullptr;
    size_t pitch = 512;
    is(API_CUDA_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 100}, 100);
    is(API_CUDA_cuMemAllocPitch_v2, cuMemAllocPitch_v2_params{&address, &pitch, 300, 4, 4}, 2048);
    is(API_CUDA_cuMemAllocManaged, cuMemAllocManaged_params{&address, 101, 1}, 101);
    is(API_CUDA_cuMemHostAlloc, cuMemHostAlloc_params{&host, 102, 0}, 102);
    is(API_CUDA_cuMemAllocHost_v2, cuMemAllocHost_v2_params{&host, 103}, 103);
    is(API_CUDA_cuMemCreate, cuMemCreate_params{nullptr, 2 << 20, nullptr, 0}, 2 << 20);
    is(API_CUDA_cuMemAllocAsync, cuMemAllocAsync_params{&address, 104, kStream}, 104);
    is(API_CUDA_cuMemAllocAsync, cuMemAllocAsync_params{&address, 104, kCapturing}, 0);
    is(API_CUDA_cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync_ptsz_params{&address, 105, nullptr, kStream}, 105);
    is(API_CUDA_cuMemsetD8_v2, cuMemsetD8_v2_params{0x1000, 1, 10}, 10);
    is(API_CUDA_cuMemsetD16_v2_ptds, cuMemsetD16_v2_ptds_params{0x1000, 1, 10}, 20);
    is(API_CUDA_cuMemsetD32Async, cuMemsetD32Async_params{0x1000, 1, 10, kStream}, 40);
    is(API_CUDA_cuMemsetD32Async, cuMemsetD32Async_params{0x1000, 1, 10, kCapturing}, 0);
    is(API_CUDA_cuMemsetD2D8_v2, cuMemsetD2D8_v2_params{0x1000, 512, 1, 3, 5}, 15);
    is(API_CUDA_cuMemsetD2D16Async, cuMemsetD2D16Async_params{0x1000, 512, 1, 3, 5, kStream}, 30);
    is(API_CUDA_cuMemsetD2D32_v2, cuMemsetD2D32_v2_params{0x1000, 512, 1, 3, 5}, 60);
    is(API_CUDA_cuMemFree_v2, cuMemFree_v2_params{0x1000}, 0);
    return test::summary("call_bytes");
}
