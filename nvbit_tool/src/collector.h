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

#include "calls/call_totals.h"
#include "calls/copies.h"
#include "launches/context.h"
#include "launches/drain.h"
#include "launches/instrumenter.h"
#include "libraries/collective_writer.h"
#include "memory/arrays.h"
#include "memory/memory.h"
#include "memory/memory_events.h"
#include "memory/memory_use.h"
#include "memory/nvml_memory.h"
#include "memory/symmetric_objects.h"
#include "settings/kernel_filter.h"
#include "settings/options.h"
#include "stacks/stack_table.h"
#include "trace/catalog.h"
#include "trace/trace_writer.h"

namespace snoopie {

// A launch between the entry and the exit of its call.
struct Launch {
    std::unique_lock<std::mutex> lock;  // of the function, if the kernel is selected
    Context* context = nullptr;
    CUstream stream = nullptr;
    std::optional<Flight> flight;  // if it is measured
};

class Collector : private OwnerLookup {
  public:
    // Opens the trace and prints the first line; `on_thread` is called on every thread that the collector starts.
    Collector(Options options, void (*on_thread)());

    void context_created(CUcontext handle);
    void context_ready(CUcontext handle);  // before its first launch: the moment when NVBit allows allocations
    void context_ending(CUcontext handle);

    // The GPU of a context, -1 if it is not known.
    int gpu(CUcontext handle) const;

    // Null while nothing is recorded.
    MemoryEvents* memory_events() { return recording() ? memory_events_.get() : nullptr; }
    void peer_access(CUcontext issuer, CUcontext owner, bool enabled);
    // A tensor map was made: checks that it can be decoded.
    void tensor_map_made(const cuTensorMapEncodeTiled_params& call);
    // A call that brings traffic which is not measured. Noted once in the trace.
    void not_followed(const char* call);

    // Any call that is not a launch of a kernel: it may copy.
    void copying(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded);

    // Any call, at the end of its entry and at the beginning of its exit. `launched`: the kernel, if it launches one.
    void call_begins(CUcontext context, nvbit_api_cuda_t cbid, CUfunction launched);
    void call_returns(nvbit_api_cuda_t cbid, const char* name, const void* params, CUresult result);

    // A launch of which nothing is to be known but that it was; none if its kernel is selected.
    std::optional<Launch> native_launch(CUcontext handle, CUfunction function);
    Launch before_launch(CUcontext handle, const LaunchCall& call);
    void after_launch(Launch launch, bool succeeded);
    // A launch that runs in another context than the current one, where NVBit does not follow it.
    Launch launch_elsewhere(CUcontext runs_in, const LaunchCall& call);
    // A node of an executable graph is switched off: NVBit ends the program when such a graph is launched.
    void graph_node_disabled();

    // A kernel becomes part of a graph: its code is instrumented now, its launches are followed when the graph is launched.
    // `new_node`: and not new parameters of one that is there.
    void into_graph(CUcontext handle, const LaunchCall& call, bool new_node);
    Launch before_graph_node(CUcontext handle, const LaunchCall& call, CUgraphExec graph, uint64_t launch_handle);
    // An executable graph was updated as a whole, or (false) destroyed.
    void graph_updated(CUgraphExec graph, bool updated);

    // The program begins to exit: collects what is left and prints the last line. The trace is whole from here on, but not closed: no
    // launch is looked at any more, other calls still are, so that what the program's last destructors free is known.
    void finish();
    // NVBit's events end before destructors of the program's that the driver's end comes after. What these have freed, the driver says.
    void look_for_freed();
    // Closes the trace. After it, and in a forked child, nothing is recorded.
    void close();
    // Something that should not happen has: nothing more is recorded. What is on the disk stays.
    void give_up(const char* why);

  private:
    void open_trace();
    void watch_memory();
    void notice(const std::string& text);
    // The same, but not again; whether it was new.
    bool note_once(const std::string& text);
    bool recording() const;
    // The calling thread's stack, 0 = unknown.
    uint32_t stack() { return stacks_ && !ending_ ? stacks_->here() : 0; }
    // The calling thread, in a call that makes an object.
    Maker maker(const char* call);
    bool is_updated(CUgraphExec graph);
    Context* find(CUcontext handle) const;
    // The same for launches, which are not looked at while the program exits.
    Context* find_for_launch(CUcontext handle) const { return exit_ns_ ? nullptr : find(handle); }
    Totals totals() const;
    void stalled(const Context& context, const Flight& flight, std::chrono::seconds since);

    // What copies ask for.
    uint8_t owner_of(uint64_t address) const override { return memory_->map().owner_of(address).value_or(kOwnerHost); }
    uint8_t owner_of_array(CUarray array) const override { return gpu_of(arrays_.context_of(array)); }
    uint8_t gpu_of(CUcontext handle) const override;
    std::optional<uint8_t> owner_by_driver(uint64_t address) const override { return snoopie::owner_by_driver(address); }

    CallLookup call_lookup();
    ContextFunction& decided(Context& context, CUfunction handle);
    // Instruments if necessary and boards the launch; none if it cannot be measured.
    std::optional<Flight> board(Context& context, ContextFunction& function, const LaunchCall& call, bool* new_code);
    // The flight was boarded but its code is not in place: it is none.
    void lose(Context& context, std::optional<Flight>* flight);
    // The launch's row in the trace, before the launch: its records can reach the trace before its call returns, and must find it there.
    void write_sampling();
    void announce(const Context& context, const Flight& flight, const LaunchCall& call);

    const Options options_;
    const KernelFilter filter_;
    void (*const on_thread_)();
    std::string path_;
    std::vector<GpuInfo> gpus_;

    std::unique_ptr<TraceWriter> writer_;  // null: the trace could not be created
    std::unique_ptr<StackTable> stacks_;   // null: CODE_CONTEXT=0
    std::unique_ptr<Catalog> catalog_;
    std::unique_ptr<Instrumenter> instrumenter_;
    std::unique_ptr<Drain> drain_;
    std::unique_ptr<Memory> memory_;
    std::unique_ptr<MemoryEvents> memory_events_;
    std::unique_ptr<CollectiveWriter> collectives_;
    std::unique_ptr<SymmetricObjects> symmetric_objects_;
    std::unique_ptr<NvmlMemory> nvml_memory_;  // null: there is no NVML
    std::unique_ptr<MemoryUse> memory_use_;
    Arrays arrays_;
    std::unique_ptr<Copies> copies_;
    std::unique_ptr<CallTotals> calls_;  // null: CALLS=off
    std::atomic<bool> ending_{false};    // no more launches are measured
    std::atomic<uint64_t> exit_ns_{0};   // when the program began to exit, 0 = not yet
    std::atomic<bool> finished_{false};  // the trace is closed

    mutable std::shared_mutex contexts_mutex_;
    std::unordered_map<CUcontext, std::unique_ptr<Context>> contexts_;
    std::vector<std::unique_ptr<Context>> ended_;  // kept: launches under way may still look at them

    std::mutex notes_mutex_;
    std::set<std::string> notes_;

    std::mutex graphs_mutex_;
    std::set<CUgraphExec> updated_graphs_;

    std::atomic<uint32_t> last_launch_{0};
    std::atomic<uint64_t> launches_seen_{0};
    std::atomic<uint64_t> launches_boarded_{0};
    std::atomic<uint64_t> launches_lost_{0};        // no counters were free
    std::atomic<uint64_t> launches_unfollowed_{0};  // boarded, but their end cannot be seen
};

}  // namespace snoopie
