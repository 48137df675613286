// Copies that the host starts, from the entry of their driver call to their row in the trace.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "calls/copy_ends.h"
#include "calls/graph_copies.h"
#include "phases/window.h"
#include "trace/trace_writer.h"

namespace snoopie {

// Safe to call from any thread.
class Copies {
  public:
    // Works while `recording` says so, and records what begins inside the window; `not_followed` is called for copies that cannot be
    // followed. `stack` is the calling thread's, 0 = unknown.
    Copies(TraceWriter* writer, const OwnerLookup* owners, Window* window, GraphStacks* stacks, std::function<uint32_t()> stack,
           std::function<bool()> recording, NotFollowed not_followed);

    // Any driver call, at its entry and at its exit: those that do not copy cost no more than a look. `context` is the calling thread's.
    // Returns at the entry what the call itself will copy: nothing, if it is a prefetch, or launches a graph, or goes into one.
    Copied at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded);

    uint64_t count() const { return count_.load(std::memory_order_relaxed); }
    uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  private:
    Copied begin(CUcontext context, nvbit_api_cuda_t cbid, const std::vector<CopyCall>& copies);
    void captured(bool succeeded);
    void end(nvbit_api_cuda_t cbid, const char* name, bool succeeded);
    // None if the copy moves nothing, or nobody can tell how much.
    std::optional<CopyRow> row(CUcontext context, const CopyCall& copy);

    TraceWriter* const writer_;
    const OwnerLookup* const owners_;
    Window* const window_;
    GraphStacks* const stacks_;
    const std::function<uint32_t()> stack_;
    const std::function<bool()> recording_;
    const NotFollowed not_followed_;
    GraphCopies graphs_;

    std::mutex mutex_;  // held while rows get their ids and go into the trace, so that both have one order
    std::atomic<uint64_t> count_{0};
    std::atomic<uint64_t> bytes_{0};
};

}  // namespace snoopie
