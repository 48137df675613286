// The CUDA driver as the collector uses it: contexts made current for a while, failed calls counted, the machine's GPUs and links.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL  // as nvbit.h does: every versioned name is written out
#endif
#include "cuda.h"
#include "trace/owners.h"
#include "trace/trace_header.h"

namespace snoopie {

// Calls of the collector that failed. They never stop the application; the footer tells how many there were.
extern std::atomic<uint64_t> driver_errors;

inline bool succeeded(CUresult result) {
    if (result == CUDA_SUCCESS) return true;
    driver_errors.fetch_add(1, std::memory_order_relaxed);
    return false;
}

// While one of these lives, driver events of this thread are the collector's own. Per thread: a flag for all threads would lose the
// application's events. For calls that no stream capture minds, whichever is under way: they ask about a stream, or record an event in one
// that is not captured.
class OwnHarmlessCalls {
  public:
    OwnHarmlessCalls() { ++depth_; }
    ~OwnHarmlessCalls() { --depth_; }
    OwnHarmlessCalls(const OwnHarmlessCalls&) = delete;
    OwnHarmlessCalls& operator=(const OwnHarmlessCalls&) = delete;
    static bool active() { return depth_ > 0; }

  private:
    static inline thread_local int depth_ = 0;
};

// The same for all calls. The thread's capture mode is relaxed meanwhile, or they would break a capture that the application has under way.
class OwnCalls {
  public:
    OwnCalls();
    ~OwnCalls();
    OwnCalls(const OwnCalls&) = delete;
    OwnCalls& operator=(const OwnCalls&) = delete;
    static bool active() { return OwnHarmlessCalls::active(); }

  private:
    const OwnHarmlessCalls own_;
    const bool outermost_;
    // Exchanged: until then the collector's, after that the program's.
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

class CurrentContext {
  public:
    explicit CurrentContext(CUcontext context);
    ~CurrentContext();
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;

  private:
    bool is_current() const;

    OwnCalls own_;
    const CUcontext context_;
    bool pushed_ = false;
};

// All GPUs that this process sees, in the order of their ordinals, and behind them the machine's others.
std::vector<GpuInfo> find_gpus();
// Between those of them that this process sees.
std::vector<LinkInfo> find_links(const std::vector<GpuInfo>& gpus);
std::string driver_version();

// Whether the context's GPU can have multicast objects.
bool multicast_supported(CUcontext context);

// The ordinal of a context's GPU, -1 if it is unknown.
int gpu_of(CUcontext context);

// A stream as a call names it: null is one of the two default streams.
inline CUstream stream_of(CUstream stream, bool per_thread) {
    if (stream) return stream;
    return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

// Whether work that is given to the stream becomes part of a graph instead of running.
bool capturing(CUstream stream);
// What a stream has to do with the legacy default stream: less from kind to kind.
enum class StreamKind {
    legacy,    // it is that one
    blocking,  // what is put into either waits for what the other has
    apart,     // neither waits for the other
};
StreamKind kind_of(CUstream stream);

// What was given to a stream that is captured last: its node in the graph, null if that cannot be told.
CUgraphNode last_captured(CUstream stream);

// The context of a stream; the current one for a default stream and where it is unknown.
CUcontext context_of(CUstream stream, CUcontext current);

inline uint8_t owner_of_device(CUdevice ordinal) {
    return ordinal >= 0 && ordinal < kMaxGpus ? static_cast<uint8_t>(ordinal) : kOwnerUnknown;
}

// Whose memory the driver takes an address for; none if it knows nothing of it, as of pageable memory. Right for plain allocations and
// module variables; of mapped ranges the driver only knows who reserved them.
std::optional<uint8_t> owner_by_driver(CUdeviceptr address);

// Where the device sees pinned memory of the host.
CUdeviceptr device_address(void* host);

// Where managed memory was last prefetched to; none if not all of it was, or not to the same place.
std::optional<uint8_t> last_prefetched_to(CUdeviceptr address, size_t bytes);

}  // namespace snoopie
