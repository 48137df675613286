// The collector of one process: what callbacks.cpp dispatches to. Begins with the first CUDA context, ends with the process.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "address_map.h"
#include "catalog.h"
#include "context.h"
#include "drain.h"
#include "instrumenter.h"
#include "kernel_filter.h"
#include "options.h"
#include "trace_writer.h"

namespace snoopie {

// A launch as its driver call describes it.
struct LaunchCall {
    CUfunction function = nullptr;
    CUstream stream = nullptr;
    std::array<uint32_t, 3> grid{1, 1, 1};
    std::array<uint32_t, 3> block{1, 1, 1};
    uint32_t shared_memory = 0;
};

// A launch between the entry and the exit of its call.
struct Launch {
    std::unique_lock<std::mutex> lock;  // of the function, if the kernel is selected
    Context* context = nullptr;
    CUstream stream = nullptr;
    std::optional<Flight> flight;  // if it is measured
};

class Collector {
  public:
    // Opens the trace and prints the first line; `on_thread` is called on every thread that the collector starts.
    Collector(Options options, void (*on_thread)());

    void context_created(CUcontext handle);
    void context_ready(CUcontext handle);  // before its first launch: the moment when NVBit allows allocations
    void context_ending(CUcontext handle);

    // Driver calls that have succeeded.
    void allocated(CUcontext handle, CUdeviceptr address, size_t bytes);
    void peer_access(CUcontext issuer, CUcontext owner, bool enabled);
    // A call that can bring traffic this version does not see; `matters_alone`: also in a process with one GPU. Noted once in the trace.
    void not_followed(const char* call, bool matters_alone);
    // A free, at its entry and at its exit.
    std::optional<Object> freeing(CUdeviceptr address);
    void freed(const Object& object, bool succeeded);

    Launch before_launch(CUcontext handle, const LaunchCall& call);
    void after_launch(Launch launch, bool succeeded);

    // A kernel becomes part of a graph: its code is instrumented now, its launches are followed when the graph is launched.
    void into_graph(CUcontext handle, CUfunction function);
    Launch before_graph_node(CUcontext handle, const LaunchCall& call, uint64_t launch_handle);

    // Collects what is left, closes the trace and prints the last line. After it, and in a forked child, nothing is recorded.
    void finish();
    // Something that should not happen has: nothing more is recorded. What is on the disk stays.
    void give_up(const char* why);

  private:
    void open_trace(void (*on_thread)());
    void notice(const std::string& text);
    bool recording() const;
    Context* find(CUcontext handle);
    // Tells every device of the changed pages. The caller holds publishing_.
    void publish(const std::vector<PageRange>& changed);
    bool reaches_foreign_memory(const Context& context);
    ContextFunction& decided(Context& context, CUfunction handle);
    // Instruments if necessary and boards the launch; none if it cannot be measured.
    std::optional<Flight> board(Context& context, ContextFunction& function, const LaunchCall& call);

    const Options options_;
    const KernelFilter filter_;
    const int pid_;
    std::string path_;
    std::vector<GpuInfo> gpus_;

    std::unique_ptr<TraceWriter> writer_;  // null: the trace could not be created
    std::unique_ptr<Catalog> catalog_;
    std::unique_ptr<Instrumenter> instrumenter_;
    std::unique_ptr<Drain> drain_;
    std::atomic<bool> ending_{false};    // no more launches are measured
    std::atomic<bool> finished_{false};  // the trace is closed

    std::shared_mutex contexts_mutex_;
    std::unordered_map<CUcontext, std::unique_ptr<Context>> contexts_;
    std::vector<std::unique_ptr<Context>> ended_;  // kept: launches under way may still look at them

    // Held while a change of the map is made and brought to the devices, so that these see changes in the map's order.
    std::mutex publishing_;
    AddressMap map_;

    std::mutex peers_mutex_;
    std::array<std::set<uint8_t>, kMaxGpus> peers_;  // by issuer: the GPUs whose memory it may access
    std::set<std::string> not_followed_;

    std::atomic<uint32_t> last_launch_{0};
    std::atomic<uint64_t> launches_seen_{0};
    std::atomic<uint64_t> launches_boarded_{0};
    std::atomic<uint64_t> launches_lost_{0};        // no counters were free
    std::atomic<uint64_t> launches_unfollowed_{0};  // boarded, but their end cannot be seen
};

}  // namespace snoopie
