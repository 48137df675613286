// The collector of one process: its parts, and how they hang together. Begins with the first CUDA context, ends with the process.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/recording.h"
#include "calls/arrays.h"
#include "calls/call_totals.h"
#include "calls/copies.h"
#include "calls/graph_stacks.h"
#include "hang/report.h"
#include "hang/server.h"
#include "launches/boarding.h"
#include "launches/contexts.h"
#include "launches/drain.h"
#include "launches/graph_launches.h"
#include "launches/instrumenter.h"
#include "launches/launch_decision.h"
#include "launches/launch_events.h"
#include "launches/launch_tally.h"
#include "launches/launches.h"
#include "launches/unloaded_code.h"
#include "libraries/collective_writer.h"
#include "memory/known_owners.h"
#include "memory/memory.h"
#include "memory/memory_events.h"
#include "memory/memory_use.h"
#include "memory/nvml_memory.h"
#include "memory/symmetric_objects.h"
#include "phases/range_writer.h"
#include "phases/window.h"
#include "settings/options.h"
#include "stacks/stack_table.h"
#include "trace/catalog.h"
#include "trace/notices.h"
#include "trace/sources.h"
#include "trace/trace_writer.h"

namespace snoopie {

class Collector {
  public:
    // Opens the trace and prints the first line; null, after a line that says why, if the trace cannot be created. `on_thread` is called on
    // every thread that the collector starts. Never to be destroyed: callbacks of other threads can still come while the process ends.
    static std::unique_ptr<Collector> start(const Options& options, void (*on_thread)());

    void context_created(CUcontext handle);
    void context_ready(CUcontext handle);  // before its first launch: the moment when NVBit allows allocations
    void context_ending(CUcontext handle);

    LaunchEvents& launch_events() { return launch_events_; }
    // Null while nothing is recorded.
    MemoryEvents* memory_events() { return recording_.on() ? &memory_events_ : nullptr; }

    UnloadedCode& unloaded_code() { return unloaded_code_; }
    // The program has asked for a library's kernel as a function of a context.
    void function_found(const cuKernelGetFunction_params& call) { instrumenter_.is_function_of(*call.pFunc, call.kernel); }
    // A tensor map was made: checks that it can be decoded.
    void tensor_map_made(const cuTensorMapEncodeTiled_params& call);
    // A call that brings traffic which is not measured. Noted once in the trace.
    void not_followed(const char* call);

    // Any call that is not a launch of a kernel: it may copy.
    void copying(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded);

    // Any call, at the end of its entry and at the beginning of its exit. `launched`: the kernel, if it launches one.
    void call_begins(CUcontext context, nvbit_api_cuda_t cbid, CUfunction launched);
    void call_returns(nvbit_api_cuda_t cbid, const char* name, const void* params, CUresult result);

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
    Collector(const Options& options, int fd, std::string path, const ProcessInfo& process, std::vector<GpuInfo> gpus, void (*on_thread)());

    Instrumenter::Notify notify();
    // The calling thread's stack, 0 = unknown.
    uint32_t stack() { return stacks_ && !recording_.ending() ? stacks_->here() : 0; }
    // The calling thread, in a call that makes an object.
    Maker maker(const char* call);
    std::vector<std::string> visible_uuids() const;
    Totals totals() const;
    void contradicted(const Context& context, const Flight& flight, uint32_t site);
    Polled polled(uint64_t address) const;
    // What `snoopie hang` gets; and of what was seen, none if the GPUs could not be looked at.
    HangReport hang_report(const std::optional<Drain::Look>& look) const;
    void stalled(const Context& context, const Flight& flight, std::chrono::seconds since);

    // In the order in which they are made: each knows only those before it.
    const Options options_;
    void (*const on_thread_)();
    const std::string path_;
    Recording recording_;
    const std::vector<GpuInfo> gpus_;

    TraceWriter writer_;
    Notices notices_;
    RangeWriter range_writer_;
    Window window_;
    std::unique_ptr<StackTable> stacks_;      // null: CODE_CONTEXT=0
    const std::unique_ptr<Sources> sources_;  // null: none are kept
    Catalog catalog_;
    Instrumenter instrumenter_;
    Drain drain_;
    Memory memory_;
    std::unique_ptr<NvmlMemory> nvml_memory_;  // null: there is no NVML
    MemoryUse memory_use_;
    Contexts contexts_;
    MemoryEvents memory_events_;
    CollectiveWriter collectives_;
    SymmetricObjects symmetric_objects_;
    Arrays arrays_;
    KnownOwners owners_;
    GraphStacks graph_stacks_;
    Copies copies_;
    LaunchTally tally_;
    LaunchDecision decision_;
    Boarding boarding_;
    Launches launches_;
    GraphNodes graph_nodes_;
    GraphLaunches graphs_;
    UnloadedCode unloaded_code_;
    LaunchEvents launch_events_;
    std::unique_ptr<CallTotals> calls_;  // null: CALLS=off
    const ProcessInfo process_;
    std::unique_ptr<HangServer> hang_server_;
};

}  // namespace snoopie
