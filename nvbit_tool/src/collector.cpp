#include "collector.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/thread_id.h"
#include "calls/call_bytes.h"
#include "launches/launch_code.h"
#include "launches/launch_sample.h"
#include "nvbit.h"
#include "probe/tensor_map.h"
#include "settings/output_path.h"

namespace snoopie {

namespace {

// Whether this is the child of a process that was recorded: asked at every driver call, so not by getpid.
bool forked = false;

// The end of the program waits no longer for the functions and lines of call stacks.
constexpr std::chrono::seconds kSymbolTime{10};

void say(const std::string& text) {
    // One write, so that lines of several processes do not mix.
    const std::string line = "snoopie: " + text + "\n";
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

std::string plural(uint64_t count, const char* noun, const char* ending = "s") {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : ending);
}

// What the trace will hold, for the first line.
std::string content(const Options& options) {
    std::string records = "no records";
    if (options.sample_size == 1) records = "every record";
    if (options.sample_size > 1) records = "1 record in " + std::to_string(options.sample_size);
    return "exact counts, " + records + (options.code_attribution ? ", source lines" : ", no source lines");
}

}  // namespace

Collector::Collector(Options options, void (*on_thread)())
    : options_(std::move(options)), filter_(options_.kernels), on_thread_(on_thread) {
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
    open_trace();
}

void Collector::open_trace() {
    const ProcessInfo process = this_process();
    OutputFile file = output_file(options_.output, {process.host, std::to_string(process.pid), process.program}, process.directory);
    std::string why;
    const int fd = create_output(&file, &why);
    if (fd < 0) {
        say(why + "; nothing is recorded");
        return;
    }
    path_ = file.path;
    gpus_ = find_gpus();
    const ToolInfo tool{SNOOPIE_VERSION, NVBIT_VERSION, SNOOPIE_CUDA, driver_version()};
    writer_ = std::make_unique<TraceWriter>(fd, header_json(tool, options_, path_, process, gpus_, find_links()), TraceWriter::Settings{},
                                            on_thread_);
    if (options_.code_context) stacks_ = std::make_unique<StackTable>(writer_.get(), &forked, [this](const auto& text) { notice(text); });
    catalog_ = std::make_unique<Catalog>(writer_.get());
    instrumenter_ = std::make_unique<Instrumenter>(catalog_.get(), options_, [this](const auto& text) { notice(text); });
    drain_ = std::make_unique<Drain>(writer_.get(), catalog_.get(), on_thread_, std::chrono::seconds(options_.patience),
                                     [this](const auto& context, const auto& flight, auto since) { stalled(context, flight, since); });
    memory_ = std::make_unique<Memory>(writer_.get(), options_.host_memory, [this](const auto& text) { notice(text); });
    watch_memory();
    memory_events_ = std::make_unique<MemoryEvents>(
        memory_.get(), writer_.get(), gpus_, memory_use_->pools(), [this](CUcontext context) { return gpu(context); },
        [this](const char* call) { return maker(call); });
    collectives_ = std::make_unique<CollectiveWriter>(writer_.get());
    tell_collectives(collectives_.get());
    symmetric_objects_ =
        std::make_unique<SymmetricObjects>(memory_.get(), [this] { return recording(); }, [this](const char* call) { return maker(call); });
    tell_symmetric_memory(symmetric_objects_.get());
    const OwnerLookup* owners = this;
    copies_ = std::make_unique<Copies>(
        writer_.get(), owners, [this] { return stack(); }, [this] { return recording(); },
        [this](const char* what) { not_followed(what); });
    if (options_.calls != Calls::off)
        calls_ = std::make_unique<CallTotals>(writer_.get(), options_.calls == Calls::all, call_lookup(), on_thread_);
    const std::string kernels = options_.kernels.empty() ? "all kernels" : "kernels " + options_.kernels_text();
    const auto visible = static_cast<uint64_t>(std::count_if(gpus_.begin(), gpus_.end(), [](const GpuInfo& gpu) { return gpu.visible; }));
    say("recording accesses to other GPUs' and the host's memory by " + kernels + " on " + plural(visible, "GPU") + " (" +
        content(options_) + ") to " + path_);
}

void Collector::watch_memory() {
    std::vector<std::string> uuids;
    for (const GpuInfo& gpu : gpus_)
        if (gpu.visible) uuids.push_back(gpu.uuid);
    nvml_memory_ = NvmlMemory::open(uuids);
    if (!nvml_memory_) notice("the driver's library for monitoring, libnvidia-ml.so.1, was not found: memory in use is not known");
    const auto ask = [this](size_t gpu) { return nvml_memory_ ? nvml_memory_->ask(gpu) : UsedBytes{}; };
    memory_use_ = std::make_unique<MemoryUse>(writer_.get(), uuids.size(), ask, on_thread_);
}

Maker Collector::maker(const char* call) { return {thread_id(), writer_->intern(call), options_.object_attribution ? stack() : 0}; }

void Collector::notice(const std::string& text) { writer_->append(NoticeRow{now_ns(), text}); }

bool Collector::recording() const { return writer_ && !finished_.load(std::memory_order_relaxed) && !forked; }

// --- Contexts ---

void Collector::context_created(CUcontext handle) {
    if (!recording()) return;
    const int gpu = snoopie::gpu_of(handle);
    if (gpu < 0 || gpu >= kMaxGpus) return;
    std::unique_lock lock(contexts_mutex_);
    std::unique_ptr<Context>& context = contexts_[handle];
    if (context) ended_.push_back(std::move(context));
    context = std::make_unique<Context>(handle, static_cast<uint8_t>(gpu));
    if (calls_) calls_->forget();
}

void Collector::context_ready(CUcontext handle) {
    Context* context = find_for_launch(handle);
    if (!context) return;
    const CurrentContext current(handle);
    const OwnerSlots slots{static_cast<uint8_t>(gpus_.size()), multicast_supported(handle) ? uint8_t{kMaxSets} : uint8_t{0}};
    const uint32_t objects = options_.object_attribution ? SlotTable::kMostObjects : 0;
    std::unique_ptr<ProbeMemory> memory = ProbeMemory::create(context->gpu(), slots, objects, options_.sample_size, options_.blocks);
    if (!memory) {
        notice("no memory for the collector on GPU " + std::to_string(context->gpu()) + ": its launches are not measured");
        return;
    }
    context->give_clock(GpuClock::create(memory->drain_stream()));
    memory_->attach(context, std::move(memory));
    drain_->add(context);
}

void Collector::context_ending(CUcontext handle) {
    // NVBit says so of every context when the program exits, where they live on: destructors still free in them.
    if (!recording() || exit_ns_) return;
    std::unique_ptr<Context> context;
    bool last = false;
    {
        std::unique_lock lock(contexts_mutex_);
        const auto found = contexts_.find(handle);
        if (found == contexts_.end()) return;
        context = std::move(found->second);
        contexts_.erase(found);
        if (calls_) calls_->forget();
        last = std::none_of(contexts_.begin(), contexts_.end(), [&](const auto& other) { return other.second->gpu() == context->gpu(); });
    }
    const OwnCalls own;
    drain_->close(context.get());
    memory_->detach(context.get(), last);
    memory_events_->context_ending(handle);
    if (context->memory() && context->in_flight() == 0) {
        const CurrentContext current(handle);
        context->memory()->unmap();
    }
    std::unique_lock lock(contexts_mutex_);
    ended_.push_back(std::move(context));
}

Context* Collector::find(CUcontext handle) const {
    if (!recording()) return nullptr;
    std::shared_lock lock(contexts_mutex_);
    const auto found = contexts_.find(handle);
    return found == contexts_.end() ? nullptr : found->second.get();
}

// --- Memory ---

int Collector::gpu(CUcontext handle) const {
    const Context* context = handle ? find(handle) : nullptr;
    return context ? context->gpu() : -1;
}

void Collector::peer_access(CUcontext issuer, CUcontext owner, bool enabled) {
    const int from = gpu(issuer);
    const int to = gpu(owner);
    if (from >= 0 && to >= 0) memory_->reach().enable_peer(static_cast<uint8_t>(from), static_cast<uint8_t>(to), enabled);
}

void Collector::tensor_map_made(const cuTensorMapEncodeTiled_params& call) {
    if (!recording() || call.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return;
    TensorMap expected;
    expected.address = reinterpret_cast<uint64_t>(call.globalAddress);
    expected.rank = call.tensorRank;
    for (uint32_t k = 0; k < call.tensorRank && k < kMaxRank; ++k) {
        expected.size[k] = call.globalDim[k];
        if (k > 0) expected.stride[k] = call.globalStrides[k - 1];
        expected.box[k] = call.boxDim[k];
        expected.step[k] = call.elementStrides[k];
    }
    const TensorMap decoded = decode_tensor_map(reinterpret_cast<const uint64_t*>(call.tensorMap));
    // A type of packed small elements is not decoded, and then not measured; that is not a surprise.
    if (decoded.rank == 0 || same_tensor(decoded, expected)) return;
    instrumenter_->distrust_tensor_maps();
    not_followed("tensor maps, whose layout this driver has changed,");
}

void Collector::not_followed(const char* what) {
    if (recording()) note_once(std::string("the program uses ") + what + " whose traffic is not measured");
}

// --- Copies ---

uint8_t Collector::gpu_of(CUcontext handle) const {
    if (!handle) return kOwnerUnknown;
    const int known = gpu(handle);
    return owner_of_device(known >= 0 ? known : snoopie::gpu_of(handle));
}

void Collector::copying(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded) {
    if (!copies_) return;
    if (succeeded) arrays_.at_event(context, cbid, params);
    const Copied copied = copies_->at_event(context, is_exit, cbid, name, params, succeeded);
    if (calls_ && !is_exit) CallTotals::will_copy(copied);
}

// --- Calls ---

CallLookup Collector::call_lookup() {
    const auto gpu_of_context = [this](const void* context) { return gpu_of(static_cast<CUcontext>(const_cast<void*>(context))); };
    const auto kernel = [this](const void* context, const void* function) {
        Context* const known = find(static_cast<CUcontext>(const_cast<void*>(context)));
        return known ? decided(*known, static_cast<CUfunction>(const_cast<void*>(function))).name : std::string();
    };
    const auto error = [](int32_t code) -> std::string {
        const OwnCalls own;
        const char* name = nullptr;
        return cuGetErrorName(static_cast<CUresult>(code), &name) == CUDA_SUCCESS && name ? name : "";
    };
    return {gpu_of_context, kernel, error};
}

void Collector::call_begins(CUcontext context, nvbit_api_cuda_t cbid, CUfunction launched) {
    if (calls_ && recording()) calls_->begins(cbid, context, launched);
}

void Collector::call_returns(nvbit_api_cuda_t cbid, const char* name, const void* params, CUresult result) {
    if (!calls_ || !recording()) return;
    const uint64_t clock = CallTotals::clock();
    // That work is not done yet is an answer.
    const bool failed = result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
    calls_->returns(clock, cbid, name, {result, failed, result == CUDA_SUCCESS ? call_bytes(cbid, params) : 0});
}

// --- Launches ---

ContextFunction& Collector::decided(Context& context, CUfunction handle) {
    ContextFunction& function = context.function(handle);
    std::call_once(function.decision, [&] {
        const OwnCalls own;
        function.name = nvbit_get_func_name(context.handle(), handle, false);
        function.selected = filter_.selects(function.name, nvbit_get_func_name(context.handle(), handle, true));
    });
    return function;
}

std::optional<Flight> Collector::board(Context& context, ContextFunction& function, const LaunchCall& call, bool* new_code) {
    *new_code = instrumenter_->prepare(context, call, &function);
    if (function.unmeasurable) ++launches_lost_;
    if (function.last_site == 0) return std::nullopt;
    std::optional<Flight> flight;
    if (!ending_) flight = context.board(++last_launch_, function);
    if (flight)
        ++launches_boarded_;
    else
        ++launches_lost_;
    return flight;
}

void Collector::lose(Context& context, std::optional<Flight>* flight) {
    --launches_boarded_;
    ++launches_lost_;
    note_once(
        "the kernel " + without_arguments((*flight)->function->name) +
        " was launched in a non-blocking stream while the default stream was busy for long: its code could not be instrumented in time, "
        "and the launch was not measured");
    context.cancel(**flight);
    flight->reset();
}

void Collector::announce(const Context& context, const Flight& flight, const LaunchCall& call) {
    writer_->append(LaunchRow{flight.launch, flight.function->id, context.gpu(), reinterpret_cast<u8>(call.stream), thread_id(), now_ns(),
                              call.grid[0], call.grid[1], call.grid[2], call.block[0], call.block[1], call.block[2], call.shared_memory,
                              current_collective_group(context.gpu()), stack()});
}

std::optional<Launch> Collector::native_launch(CUcontext handle, CUfunction function) {
    Launch launch;
    launch.context = find_for_launch(handle);
    if (!launch.context) return launch;
    if (decided(*launch.context, function).selected) return std::nullopt;
    ++launches_seen_;
    return launch;
}

Launch Collector::before_launch(CUcontext handle, const LaunchCall& call) {
    Launch launch;
    Context* context = find_for_launch(handle);
    if (!context) return launch;
    ++launches_seen_;
    launch.context = context;
    launch.stream = call.stream;
    if (!context->memory()) return launch;
    const OwnCalls own;
    ContextFunction& function = decided(*context, call.function);
    if (!function.selected) return launch;
    launch.lock = std::unique_lock(function.launching);
    bool new_code = false;
    if (memory_->reaches_foreign(context->gpu()) && launch_sampled(function.launches++, options_.launch_sample))
        launch.flight = board(*context, function, call, &new_code);
    if (function.last_site == 0) return launch;
    std::optional<uint64_t> value;
    if (launch.flight) value = context->launch_value(*launch.flight);
    if (!context->code().choose(function, call, value, new_code)) lose(*context, &launch.flight);
    if (!launch.flight) return launch;
    announce(*context, *launch.flight, call);
    context->begin(&*launch.flight, call.stream);
    return launch;
}

Launch Collector::launch_elsewhere(CUcontext runs_in, const LaunchCall& call) {
    Launch launch;
    Context* context = find_for_launch(runs_in);
    if (!context) return launch;
    ++launches_seen_;
    launch.context = context;
    const OwnCalls own;
    const ContextFunction& function = decided(*context, call.function);
    if (function.selected && memory_->reaches_foreign(context->gpu())) {
        ++launches_lost_;
        const std::string kernel = without_arguments(function.name);
        note_once("the kernel " + kernel + " was launched in a stream of GPU " + std::to_string(context->gpu()) +
                  " while another GPU was current: NVBit does not follow it there; make its GPU current (cudaSetDevice) for the launch");
    }
    return launch;
}

void Collector::graph_node_disabled() {
    if (!recording()) return;
    const std::string text =
        "the program disables a node of a CUDA graph: if it is a kernel, NVBit " NVBIT_VERSION " ends the program at the graph's launch";
    if (note_once(text)) say(text);
}

bool Collector::note_once(const std::string& text) {
    {
        std::unique_lock lock(notes_mutex_);
        if (!notes_.insert(text).second) return false;
    }
    notice(text);
    return true;
}

void Collector::after_launch(Launch launch, bool succeeded) {
    if (!launch.context || !recording() || exit_ns_) return;
    if (!succeeded) --launches_seen_;
    if (!launch.flight) return;
    const OwnCalls own;
    if (!succeeded) {
        --launches_boarded_;
        --launch.flight->function->launches;
        launch.context->cancel(*launch.flight);
        return;
    }
    if (launch.context->depart(*launch.flight, launch.stream)) {
        ++launch.flight->function->launches_measured;
        drain_->wake();
    } else {
        ++launches_unfollowed_;
    }
}

void Collector::into_graph(CUcontext handle, const LaunchCall& call, bool new_node) {
    Context* context = find_for_launch(handle);
    if (!context || !context->memory()) return;
    const OwnCalls own;
    ContextFunction& function = decided(*context, call.function);
    if (!function.selected) return;
    const std::unique_lock lock(function.launching);
    if (!new_node && function.instrumented && !function.by_table) return;
    const bool new_code = instrumenter_->prepare(*context, call, &function);
    if (function.last_site != 0) context->code().keep(function, call, new_code);
}

Launch Collector::before_graph_node(CUcontext handle, const LaunchCall& call, CUgraphExec graph, uint64_t launch_handle) {
    Launch launch;
    Context* context = find_for_launch(handle);
    if (!context) return launch;
    ++launches_seen_;
    const OwnCalls own;
    ContextFunction& function = decided(*context, call.function);
    launch.context = context;
    launch.stream = call.stream;
    if (function.selected && is_updated(graph)) {
        ++launches_lost_;
        note_once(
            "the program updates an executable CUDA graph (cudaGraphExecUpdate): what its kernels access afterwards is not "
            "measured, because NVBit does not tell their launches apart any more");
    } else if (function.selected && function.instrumented) {
        const std::unique_lock lock(function.launching);
        ++function.launches;
        bool new_code = false;
        launch.flight = board(*context, function, call, &new_code);
        if (launch.flight && !context->code().in_place(call.stream)) lose(*context, &launch.flight);
        if (launch.flight) announce(*context, *launch.flight, call);
    } else if (function.selected && context->memory() && memory_->reaches_foreign(context->gpu())) {
        ++launches_lost_;
        note_once("the kernel " + without_arguments(function.name) +
                  " came into a CUDA graph unseen: its launches by the graph are not measured");
    }
    nvbit_set_at_launch(handle, call.function, launch.flight ? context->launch_value(*launch.flight) : kLaunchUncounted, call.stream,
                        launch_handle);
    return launch;
}

void Collector::graph_updated(CUgraphExec graph, bool updated) {
    std::unique_lock lock(graphs_mutex_);
    updated ? void(updated_graphs_.insert(graph)) : void(updated_graphs_.erase(graph));
}

bool Collector::is_updated(CUgraphExec graph) {
    std::unique_lock lock(graphs_mutex_);
    return updated_graphs_.count(graph) > 0;
}

// --- The end ---

Totals Collector::totals() const {
    Totals totals;
    totals.launches_seen = launches_seen_;
    totals.launches_measured = drain_->launches_measured();
    totals.launches_lost = launches_lost_ + launches_unfollowed_ + drain_->launches_lost();
    totals.launches_native = launches_seen_ - launches_boarded_ - launches_lost_;
    totals.accesses = drain_->accesses() + drain_->unmeasured();
    totals.copies = copies_->count();
    totals.copy_bytes = copies_->bytes();
    totals.records_written = drain_->records_written();
    totals.records_dropped = drain_->records_dropped();
    totals.unresolved_accesses = drain_->unresolved();
    totals.unmeasured_accesses = drain_->unmeasured();
    totals.unmeasured_sites = catalog_->unmeasured_sites();
    totals.errors = driver_errors;
    return totals;
}

void Collector::stalled(const Context& context, const Flight& flight, std::chrono::seconds since) {
    const std::string kernel = without_arguments(flight.function->name);
    const std::string text = "kernel " + kernel + " on GPU " + std::to_string(context.gpu()) + " has reached no other memory for " +
                             std::to_string(since.count()) +
                             " s: it waits for something that another kernel, process or the host must do; if it ends in time without the "
                             "tool, leave it out with KERNEL_NAME";
    say(text);
    notice(text);
    if (!options_.exit_on_stall || ending_.exchange(true)) return;
    finished_ = true;
    if (stacks_) stacks_->write_symbols(kSymbolTime, on_thread_);
    memory_use_->stop();
    Totals totals = this->totals();
    if (calls_) calls_->stop();
    totals.launches_lost += launches_boarded_ - totals.launches_measured - drain_->launches_lost() - launches_unfollowed_;
    writer_->finish(footer_json(now_ns(), now_ns(), totals));
    say("ending the program because of STALL=exit; the trace is " + path_);
    _exit(3);
}

void Collector::finish() {
    if (!writer_) return;
    if (forked) {
        writer_->abandon();
        return;
    }
    if (ending_.exchange(true)) return;
    const OwnCalls own;
    drain_->stop();
    exit_ns_ = now_ns();

    memory_->end_publishing();
    memory_events_->program_exits();
    if (calls_) calls_->flush();
    write_sampling();
    if (stacks_) stacks_->write_symbols(kSymbolTime, on_thread_);
    if (const uint64_t lanes = drain_->misdirected())
        notice(plural(lanes, "lane access", "es") +
               " came with the launch value of another GPU and are in no count: kernels were launched on several GPUs at the same moment");
    const Totals totals = this->totals();
    writer_->checkpoint(footer_json(exit_ns_, now_ns(), totals));

    if (const std::string error = writer_->error(); !error.empty()) {
        say("the trace " + path_ + " is incomplete: " + error);
        return;
    }
    std::string line = "recorded " + plural(totals.accesses - totals.unmeasured_accesses, "access", "es") + " in " +
                       plural(totals.launches_measured, "launch", "es") + ", " + plural(totals.records_written, "record") + ", " +
                       std::to_string(totals.records_dropped) + " dropped";
    if (totals.launches_lost) line += "; " + plural(totals.launches_lost, "launch", "es") + " could not be measured";
    say(line + "; open it with: snoopie view " + path_);
}

void Collector::look_for_freed() {
    if (exit_ns_ && recording()) memory_events_->look_for_freed();
}

void Collector::close() {
    if (!writer_ || forked || !exit_ns_ || finished_.exchange(true)) return;
    memory_events_->end();
    memory_use_->stop();
    if (calls_) calls_->stop();
    const bool was_whole = writer_->error().empty();
    writer_->finish(footer_json(exit_ns_, now_ns(), totals()));
    if (const std::string error = writer_->error(); was_whole && !error.empty()) say("the trace " + path_ + " is incomplete: " + error);
}

void Collector::write_sampling() {
    if (options_.launch_sample == 1) return;
    std::map<std::pair<uint32_t, uint8_t>, SamplingRow> rows;
    const auto add = [&](Context& context) {
        for (const ContextFunction* function : context.functions()) {
            if (function->id == 0 || function->launches == function->launches_measured) continue;
            SamplingRow& row = rows[{function->id, context.gpu()}];
            row.function = function->id;
            row.gpu = context.gpu();
            row.launches += function->launches;
            row.measured += function->launches_measured;
        }
    };
    const std::shared_lock lock(contexts_mutex_);
    for (const auto& [handle, context] : contexts_) add(*context);
    for (const auto& context : ended_) add(*context);
    for (const auto& [key, row] : rows) writer_->append(row);
}

void Collector::give_up(const char* why) {
    if (finished_.exchange(true) || ending_.exchange(true)) return;
    say("stopped recording to " + path_ + ": " + why);
}

}  // namespace snoopie
