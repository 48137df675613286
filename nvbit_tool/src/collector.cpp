#include "collector.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "nvbit.h"
#include "output_path.h"

namespace snoopie {

namespace {

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

uint32_t thread_id() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

}  // namespace

Collector::Collector(Options options, void (*on_thread)()) : options_(std::move(options)), filter_(options_.kernels), pid_(getpid()) {
    open_trace(on_thread);
}

void Collector::open_trace(void (*on_thread)()) {
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
                                            on_thread);
    catalog_ = std::make_unique<Catalog>(writer_.get());
    instrumenter_ = std::make_unique<Instrumenter>(catalog_.get(), options_.code_attribution, [this](const auto& text) { notice(text); });
    drain_ = std::make_unique<Drain>(writer_.get(), on_thread);
    const std::string kernels = options_.kernels.empty() ? "all kernels" : "kernels " + options_.kernels_text();
    say("recording accesses to other GPUs' memory by " + kernels + " on " + plural(gpus_.size(), "GPU") + " (" + content(options_) +
        ") to " + path_);
}

void Collector::notice(const std::string& text) { writer_->append(NoticeRow{now_ns(), text}); }

bool Collector::recording() const { return writer_ && !finished_.load(std::memory_order_relaxed) && getpid() == pid_; }

// --- Contexts ---

void Collector::context_created(CUcontext handle) {
    if (!recording()) return;
    const int gpu = gpu_of(handle);
    if (gpu < 0 || gpu >= kMaxGpus) return;
    std::unique_lock lock(contexts_mutex_);
    std::unique_ptr<Context>& context = contexts_[handle];
    if (context) ended_.push_back(std::move(context));
    context = std::make_unique<Context>(handle, static_cast<uint8_t>(gpu));
}

void Collector::context_ready(CUcontext handle) {
    Context* context = find(handle);
    if (!context || gpus_.size() < 2) return;
    const CurrentContext current(handle);
    std::unique_ptr<ProbeMemory> memory = ProbeMemory::create(context->gpu(), static_cast<uint32_t>(gpus_.size()), options_.sample_size);
    if (!memory) {
        notice("no memory for the collector on GPU " + std::to_string(context->gpu()) + ": its launches are not measured");
        return;
    }
    {
        // Under the lock from here on no change is missed: it is either in pages() or published to this context.
        std::unique_lock lock(publishing_);
        memory->set_pages(map_.pages());
        context->give_memory(std::move(memory));
    }
    drain_->add(context);
}

void Collector::context_ending(CUcontext handle) {
    if (!recording()) return;
    std::unique_ptr<Context> context;
    {
        std::unique_lock lock(contexts_mutex_);
        const auto found = contexts_.find(handle);
        if (found == contexts_.end()) return;
        context = std::move(found->second);
        contexts_.erase(found);
    }
    const OwnCalls own;
    drain_->close(context.get());
    {
        std::unique_lock lock(publishing_);
        std::vector<PageRange> changed;
        for (const Object& object : map_.end_context(reinterpret_cast<uint64_t>(handle), &changed))
            writer_->append(FreeRow{object.id, now_ns()});
        publish(changed);
    }
    {
        std::unique_lock lock(peers_mutex_);
        peers_[context->gpu()].clear();
        for (std::set<uint8_t>& owners : peers_) owners.erase(context->gpu());
    }
    std::unique_lock lock(contexts_mutex_);
    ended_.push_back(std::move(context));
}

Context* Collector::find(CUcontext handle) {
    if (!recording()) return nullptr;
    std::shared_lock lock(contexts_mutex_);
    const auto found = contexts_.find(handle);
    return found == contexts_.end() ? nullptr : found->second.get();
}

// --- Memory ---

void Collector::allocated(CUcontext handle, CUdeviceptr address, size_t bytes) {
    const Context* context = find(handle);
    if (!context) return;
    std::unique_lock lock(publishing_);
    std::vector<PageRange> changed;
    const Object object = map_.add(address, bytes, context->gpu(), reinterpret_cast<uint64_t>(handle), &changed);
    publish(changed);
    writer_->append(ObjectRow{object.id, object.address, object.bytes, object.owner, static_cast<u1>(ObjectKind::device), now_ns()});
}

std::optional<Object> Collector::freeing(CUdeviceptr address) {
    if (!recording()) return std::nullopt;
    return map_.begin_free(address);
}

void Collector::freed(const Object& object, bool succeeded) {
    if (!recording()) return;
    std::unique_lock lock(publishing_);
    std::vector<PageRange> changed;
    map_.end_free(object, succeeded, &changed);
    publish(changed);
    if (succeeded) writer_->append(FreeRow{object.id, now_ns()});
}

void Collector::publish(const std::vector<PageRange>& changed) {
    if (changed.empty()) return;
    std::shared_lock lock(contexts_mutex_);
    for (const auto& [handle, context] : contexts_) {
        if (!context->memory()) continue;
        const CurrentContext current(handle);
        if (!context->memory()->set_pages(changed))
            notice("GPU " + std::to_string(context->gpu()) + " learned late of an allocation: accesses to it may be missing");
    }
}

void Collector::not_followed(const char* call, bool matters_alone) {
    if (!recording() || (gpus_.size() < 2 && !matters_alone)) return;
    {
        std::unique_lock lock(peers_mutex_);
        if (!not_followed_.insert(call).second) return;
    }
    notice(std::string("the program calls ") + call +
           ": accesses to other GPUs' memory that come from it are not measured by this version");
}

void Collector::peer_access(CUcontext issuer, CUcontext owner, bool enabled) {
    const Context* from = find(issuer);
    const Context* to = find(owner);
    if (!from || !to) return;
    std::unique_lock lock(peers_mutex_);
    if (enabled) {
        peers_[from->gpu()].insert(to->gpu());
    } else {
        peers_[from->gpu()].erase(to->gpu());
    }
}

bool Collector::reaches_foreign_memory(const Context& context) {
    std::unique_lock lock(peers_mutex_);
    for (const uint8_t owner : peers_[context.gpu()])
        if (map_.any_of(owner)) return true;
    return false;
}

// --- Launches ---

ContextFunction& Collector::decided(Context& context, CUfunction handle) {
    ContextFunction& function = context.function(handle);
    std::call_once(function.decision, [&] {
        function.selected =
            filter_.selects(nvbit_get_func_name(context.handle(), handle, false), nvbit_get_func_name(context.handle(), handle, true));
    });
    return function;
}

std::optional<Flight> Collector::board(Context& context, ContextFunction& function, const LaunchCall& call) {
    if (!function.instrumented) instrumenter_->instrument(context, call.function, &function);
    if (function.last_site == 0) return std::nullopt;
    const uint32_t launch = ++last_launch_;
    std::optional<Flight> flight;
    if (!ending_) flight = context.board(launch, function);
    if (!flight) {
        ++launches_lost_;
        return std::nullopt;
    }
    ++launches_boarded_;
    // Before the launch: its records can reach the trace before its call returns, and must find it there.
    writer_->append(LaunchRow{launch, function.id, context.gpu(), reinterpret_cast<u8>(call.stream), thread_id(), now_ns(), call.grid[0],
                              call.grid[1], call.grid[2], call.block[0], call.block[1], call.block[2], call.shared_memory});
    return flight;
}

Launch Collector::before_launch(CUcontext handle, const LaunchCall& call) {
    Launch launch;
    Context* context = find(handle);
    if (!context) return launch;
    ++launches_seen_;
    launch.context = context;
    launch.stream = call.stream;
    if (!context->memory()) return launch;
    const OwnCalls own;
    ContextFunction& function = decided(*context, call.function);
    if (!function.selected) return launch;
    launch.lock = std::unique_lock(function.launching);
    if (reaches_foreign_memory(*context)) launch.flight = board(*context, function, call);
    if (function.instrumented) {
        nvbit_set_at_launch(handle, call.function, launch.flight ? context->launch_value(*launch.flight) : kLaunchUncounted);
        nvbit_enable_instrumented(handle, call.function, launch.flight.has_value());
    }
    return launch;
}

void Collector::after_launch(Launch launch, bool succeeded) {
    if (!launch.context || !recording()) return;
    if (!succeeded) --launches_seen_;
    if (!launch.flight) return;
    const OwnCalls own;
    if (!succeeded) {
        --launches_boarded_;
        launch.context->cancel(*launch.flight);
    } else if (launch.context->depart(*launch.flight, launch.stream)) {
        drain_->wake();
    } else {
        ++launches_unfollowed_;
    }
}

void Collector::into_graph(CUcontext handle, CUfunction kernel) {
    Context* context = find(handle);
    if (!context || !context->memory()) return;
    const OwnCalls own;
    ContextFunction& function = decided(*context, kernel);
    if (!function.selected) return;
    const std::unique_lock lock(function.launching);
    if (!function.instrumented) instrumenter_->instrument(*context, kernel, &function);
    nvbit_set_at_launch(handle, kernel, kLaunchUncounted);
    nvbit_enable_instrumented(handle, kernel, function.last_site != 0);
}

Launch Collector::before_graph_node(CUcontext handle, const LaunchCall& call, uint64_t launch_handle) {
    Launch launch;
    Context* context = find(handle);
    if (!context) return launch;
    ++launches_seen_;
    const OwnCalls own;
    ContextFunction& function = decided(*context, call.function);
    launch.context = context;
    launch.stream = call.stream;
    {
        const std::unique_lock lock(function.launching);
        if (function.selected && function.instrumented) launch.flight = board(*context, function, call);
    }
    nvbit_set_at_launch(handle, call.function, launch.flight ? context->launch_value(*launch.flight) : kLaunchUncounted, call.stream,
                        launch_handle);
    return launch;
}

// --- The end ---

void Collector::finish() {
    if (!writer_) return;
    if (getpid() != pid_) {
        writer_->abandon();
        return;
    }
    if (ending_.exchange(true)) return;
    const OwnCalls own;
    drain_->stop();
    finished_ = true;

    Totals totals;
    totals.launches_seen = launches_seen_;
    totals.launches_measured = drain_->launches_measured();
    totals.launches_lost = launches_lost_ + launches_unfollowed_ + drain_->launches_lost();
    totals.launches_native = launches_seen_ - launches_boarded_ - launches_lost_;
    totals.accesses = drain_->accesses();
    totals.records_written = drain_->records_written();
    totals.records_dropped = drain_->records_dropped();
    totals.unmeasured_sites = catalog_->unmeasured_sites();
    totals.errors = driver_errors;
    writer_->finish(footer_json(now_ns(), totals));

    if (const std::string error = writer_->error(); !error.empty()) {
        say("the trace " + path_ + " is incomplete: " + error);
        return;
    }
    std::string line = "recorded " + plural(totals.accesses, "access", "es") + " in " + plural(totals.launches_measured, "launch", "es") +
                       ", " + plural(totals.records_written, "record") + ", " + std::to_string(totals.records_dropped) + " dropped";
    if (totals.launches_lost) line += "; " + plural(totals.launches_lost, "launch", "es") + " could not be measured";
    say(line + "; open it with: snoopie view " + path_);
}

void Collector::give_up(const char* why) {
    if (ending_.exchange(true)) return;
    finished_ = true;
    say("stopped recording to " + path_ + ": " + why);
}

}  // namespace snoopie
