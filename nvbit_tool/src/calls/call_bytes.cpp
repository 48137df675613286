#include "calls/call_bytes.h"

#include <type_traits>

#include "driver/driver.h"

namespace snoopie {

namespace {

template <class Params, class = void>
constexpr bool has_stream = false;
template <class Params>
constexpr bool has_stream<Params, std::void_t<decltype(Params::hStream)>> = true;

template <class Params>
bool into_graph(const Params& p, bool per_thread) {
    if constexpr (has_stream<Params>) return capturing(stream_of(p.hStream, per_thread));
    return false;
}

// --- Parameters have the same names wherever they are of the same sort. ---

template <class Params>
auto size(const Params& p, int) -> decltype(uint64_t{p.bytesize}) {
    return p.bytesize;
}
template <class Params>
auto size(const Params& p, long) -> decltype(uint64_t{p.size}) {
    return p.size;
}

template <class Params>
uint64_t allocation(const Params& p, bool per_thread) {
    return into_graph(p, per_thread) ? 0 : size(p, 0);
}

template <class Params>
uint64_t pitched(const Params& p, bool) {
    return uint64_t{*p.pPitch} * p.Height;
}

template <class Params>
auto value_bytes(const Params& p) -> decltype(sizeof p.uc) {
    return sizeof p.uc;
}
template <class Params>
auto value_bytes(const Params& p) -> decltype(sizeof p.us) {
    return sizeof p.us;
}
template <class Params>
auto value_bytes(const Params& p) -> decltype(sizeof p.ui) {
    return sizeof p.ui;
}

template <class Params>
uint64_t line(const Params& p, bool per_thread) {
    return into_graph(p, per_thread) ? 0 : uint64_t{p.N} * value_bytes(p);
}

template <class Params>
uint64_t rectangle(const Params& p, bool per_thread) {
    return into_graph(p, per_thread) ? 0 : uint64_t{p.Width} * p.Height * value_bytes(p);
}

}  // namespace

uint64_t call_bytes(nvbit_api_cuda_t cbid, const void* params) {
#define CALL(call, read, per_thread) \
    case API_CUDA_##call:            \
        return read(*static_cast<const call##_params*>(params), per_thread);
// The second works in streams of the calling thread.
#define BOTH(call, per_thread_call, read) CALL(call, read, false) CALL(per_thread_call, read, true)
    // clang-format off
    switch (cbid) {
        CALL(cuMemAlloc_v2, allocation, false)
        CALL(cuMemAllocPitch_v2, pitched, false)
        CALL(cuMemAllocManaged, allocation, false)
        CALL(cuMemAllocHost_v2, allocation, false)
        CALL(cuMemHostAlloc, allocation, false)
        CALL(cuMemCreate, allocation, false)
        BOTH(cuMemAllocAsync, cuMemAllocAsync_ptsz, allocation)
        BOTH(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz, allocation)
        BOTH(cuMemsetD8_v2, cuMemsetD8_v2_ptds, line)
        BOTH(cuMemsetD16_v2, cuMemsetD16_v2_ptds, line)
        BOTH(cuMemsetD32_v2, cuMemsetD32_v2_ptds, line)
        BOTH(cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds, rectangle)
        BOTH(cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds, rectangle)
        BOTH(cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds, rectangle)
        BOTH(cuMemsetD8Async, cuMemsetD8Async_ptsz, line)
        BOTH(cuMemsetD16Async, cuMemsetD16Async_ptsz, line)
        BOTH(cuMemsetD32Async, cuMemsetD32Async_ptsz, line)
        BOTH(cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz, rectangle)
        BOTH(cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz, rectangle)
        BOTH(cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz, rectangle)
        // As they were before CUDA 3.2.
        CALL(cuMemAlloc, allocation, false)
        CALL(cuMemAllocPitch, pitched, false)
        CALL(cuMemAllocHost, allocation, false)
        CALL(cuMemsetD8, line, false)
        CALL(cuMemsetD16, line, false)
        CALL(cuMemsetD32, line, false)
        CALL(cuMemsetD2D8, rectangle, false)
        CALL(cuMemsetD2D16, rectangle, false)
        CALL(cuMemsetD2D32, rectangle, false)
        default:
            return 0;
    }
        // clang-format on
#undef BOTH
#undef CALL
}

}  // namespace snoopie
