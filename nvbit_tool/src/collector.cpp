#include "collector.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/attempt.h"
#include "base/clock.h"
#include "base/say.h"
#include "base/thread_id.h"
#include "calls/call_bytes.h"
#include "driver/preloaded_library.h"
#include "driver/tool_events.h"
#include "launches/call_lookup.h"
#include "launches/launch_code.h"
#include "launches/sampling_rows.h"
#include "launches/tensor_map_check.h"
#include "nvbit.h"
#include "settings/kernel_filter.h"
#include "settings/output_path.h"
#include "trace/console_lines.h"

namespace snoopie {

namespace {

// In the code of the collector, whose frames are left out of call stacks.
const char own_code = 0;

// The end of the program waits no longer for the functions and lines of call stacks.
constexpr std::chrono::seconds kSymbolTime{10};

// Who asks what is under way hears after so long that the GPUs could not be asked.
constexpr std::chrono::seconds kLookPatience{5};
// Lines that a report names.
constexpr size_t kMostStores = 16;

ToolInfo this_tool() { return {SNOOPIE_VERSION, NVBIT_VERSION, SNOOPIE_CUDA, driver_version()}; }

// What slowed the program, where that was long.
void note_waits_for_counters(const Contexts& contexts, Notices* notices) {
    std::chrono::nanoseconds waited{0};
    contexts.each([&](const Context& context) { waited += context.waited(); });
    const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count() / 100;
    if (tenths == 0) return;
    notices->note("launches waited " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
                  " s in all for others to end: the program runs further ahead of its GPUs than there are counters for");
}

}  // namespace

std::unique_ptr<Collector> Collector::start(const Options& options, void (*on_thread)()) {
    std::vector<GpuInfo> gpus = find_gpus();
    if (std::none_of(gpus.begin(), gpus.end(), [](const GpuInfo& gpu) { return gpu.visible; })) {
        say("the driver does not say which GPUs there are; nothing is recorded");
        return nullptr;
    }
    const ProcessInfo process = this_process(options.run);
    OutputFile file = output_file(options.output, {process.host, std::to_string(process.pid), process.program}, process.directory);
    std::string why;
    const int fd = create_output(&file, &why);
    if (fd < 0) {
        say(why + "; nothing is recorded");
        return nullptr;
    }
    std::unique_ptr<Collector> collector;
    attempt([&] { collector.reset(new Collector(options, fd, file.path, process, std::move(gpus), on_thread)); },
            [&](const char* failure) {
                // Where a user or a container may have no more threads. What was begun is no trace: it would look like that of an idle
                // program.
                unlink(file.path.c_str());
                say(std::string("the collector cannot be started: ") + failure + "; nothing is recorded");
            });
    return collector;
}

Collector::Collector(const Options& options, int fd, std::string path, const ProcessInfo& process, std::vector<GpuInfo> gpus,
                     void (*on_thread)())
    : options_(options),
      on_thread_(on_thread),
      path_(std::move(path)),
      gpus_(std::move(gpus)),
      writer_(fd, header_json(this_tool(), options_, path_, process, gpus_, find_links(gpus_)), TraceWriter::Settings{}, on_thread),
      notices_(&writer_),
      range_writer_(&writer_, [this] { return recording_.on(); }),
      window_(options_, process.start_ns, &preloaded_library().wanted(), &preloaded_library().ranges()),
      stacks_(options_.code_context ? std::make_unique<StackTable>(&writer_, &own_code, notify()) : nullptr),
      sources_(options_.source ? std::make_unique<Sources>(&writer_, &preloaded_library().compiled_sources()) : nullptr),
      catalog_(&writer_, sources_.get()),
      instrumenter_(&catalog_, options_, notify()),
      drain_(
          &writer_, &catalog_, on_thread, std::chrono::seconds(options_.patience),
          [this](const auto& context, const auto& flight, auto since) { stalled(context, flight, since); },
          [this](const auto& context, const auto& flight, uint32_t site) { contradicted(context, flight, site); },
          [this](uint64_t address) { return polled(address); }),
      memory_(&writer_, options_.host_memory, notify()),
      nvml_memory_(NvmlMemory::open(visible_uuids())),
      memory_use_(
          &writer_, visible_uuids().size(), [this](size_t gpu) { return nvml_memory_ ? nvml_memory_->ask(gpu) : UsedBytes{}; }, on_thread),
      contexts_(&recording_,
                [this] {
                    if (calls_) calls_->forget();
                }),
      memory_events_(
          &memory_, &writer_, gpus_, memory_use_.pools(), [this](CUcontext context) { return contexts_.gpu(context); },
          [this](const char* call) { return maker(call); }),
      collectives_(&writer_, &window_),
      symmetric_objects_(
          &memory_, [this] { return recording_.on(); }, [this](const char* call) { return maker(call); }),
      owners_(&memory_, &arrays_, &contexts_),
      copies_(
          &writer_, &owners_, &window_, &graph_stacks_, [this] { return stack(); }, [this] { return recording_.on(); },
          [this](const char* what) { not_followed(what); }),
      decision_(options_, &memory_, &window_),
      boarding_(&instrumenter_, &writer_, &notices_, &recording_, &tally_, [this] { return stack(); }),
      launches_(&recording_, &contexts_, &decision_, &boarding_, &drain_, &notices_, &tally_),
      graph_nodes_(&recording_, &contexts_, &decision_, &instrumenter_, &notices_, &graph_stacks_, [this] { return stack(); }),
      graphs_(
          &contexts_, &decision_, &boarding_, &launches_, &notices_, &tally_, &graph_stacks_, [this] { return stack(); },
          [this](const std::vector<uint32_t>& stacks) { return stacks_->common(stacks); }),
      unloaded_code_(&contexts_, &instrumenter_, &notices_),
      launch_events_(&launches_, &graph_nodes_, &graphs_, [this](const char* what) { not_followed(what); }),
      process_(process) {
    if (!nvml_memory_) notices_.note("NVIDIA's management library, libnvidia-ml.so.1, was not found: memory in use is unknown");
    // Both have a thread, which may be refused: from then on nothing is.
    if (options_.calls != Calls::off)
        calls_ =
            std::make_unique<CallTotals>(&writer_, options_.calls == Calls::all, call_lookup(&contexts_, &decision_, &owners_), on_thread_);
    hang_server_ =
        std::make_unique<HangServer>(process_.pid, [this] { return json_of(hang_report(drain_.look(kLookPatience))); }, on_thread_);
    const Preload& preload = preloaded_library();
    preload.send_collectives_to(&collectives_);
    preload.send_symmetric_memory_to(&symmetric_objects_);
    preload.ranges().send_to(&range_writer_);
    if (stacks_) stacks_->leave_out(preload.code);
    hear_questions(options_.calls == Calls::all);
    say(first_line(options_, gpus_, path_));
}

Instrumenter::Notify Collector::notify() {
    return [this](const std::string& text) { notices_.note(text); };
}

Maker Collector::maker(const char* call) { return {thread_id(), writer_.intern(call), options_.object_attribution ? stack() : 0}; }

std::vector<std::string> Collector::visible_uuids() const {
    std::vector<std::string> uuids;
    for (const GpuInfo& gpu : gpus_)
        if (gpu.visible) uuids.push_back(gpu.uuid);
    return uuids;
}

// --- Contexts ---

void Collector::context_created(CUcontext handle) {
    if (!recording_.on()) return;
    const int gpu = gpu_of(handle);
    if (gpu >= 0 && gpu < kMaxGpus) contexts_.created(handle, static_cast<uint8_t>(gpu));
}

void Collector::context_ready(CUcontext handle) {
    Context* context = contexts_.find_for_launch(handle);
    if (!context) return;
    const CurrentContext current(handle);
    const OwnerSlots slots{static_cast<uint8_t>(gpus_.size()), multicast_supported(handle) ? uint8_t{kMaxSets} : uint8_t{0}};
    const uint32_t objects = options_.object_attribution ? SlotTable::kMostObjects : 0;
    std::unique_ptr<ProbeMemory> memory =
        ProbeMemory::create(context->gpu(), slots, objects, options_.sample_size, options_.waits, options_.blocks);
    if (!memory) {
        notices_.note("the collector could not allocate memory on GPU " + std::to_string(context->gpu()) +
                      ": launches there are not measured");
        return;
    }
    if (options_.probes == Probes::live) context->code().give_words(CodeWords::create(handle));
    if (options_.times != Times::off) {
        std::unique_ptr<GpuClock> clock = GpuClock::create(memory->drain_stream());
        if (!clock)
            notices_.note("when launches ran on GPU " + std::to_string(context->gpu()) +
                          " is not known: it did not answer, as if it were busy");
        if (clock && options_.times == Times::all) context->give_timer(std::make_unique<LaunchTimer>(handle));
        context->give_clock(std::move(clock));
    }
    memory_.attach(context, std::move(memory));
    drain_.add(context);
}

void Collector::context_ending(CUcontext handle) {
    // NVBit says so of every context when the program exits, where they live on: destructors still free in them.
    if (!recording_.on() || recording_.exiting()) return;
    auto [context, last] = contexts_.ending(handle);
    if (!context) return;
    const OwnCalls own;
    instrumenter_.forget_handles();
    drain_.close(context.get());
    memory_.detach(context.get(), last);
    memory_events_.context_ending(handle);
    if (context->memory() && context->in_flight() == 0) {
        const CurrentContext current(handle);
        context->memory()->unmap();
    }
    contexts_.ended(std::move(context));
}

// --- Calls ---

void Collector::tensor_map_made(const cuTensorMapEncodeTiled_params& call) {
    if (!recording_.on() || tensor_map_is_as_expected(call)) return;
    instrumenter_.distrust_tensor_maps();
    not_followed("tensor maps in a layout that is new in this driver");
}

void Collector::not_followed(const char* what) {
    if (recording_.on()) notices_.note_once(std::string("the program uses ") + what + ": their traffic is not measured");
}

void Collector::copying(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded) {
    if (succeeded) arrays_.at_event(context, cbid, params);
    const Copied copied = copies_.at_event(context, is_exit, cbid, name, params, succeeded);
    if (calls_ && !is_exit) CallTotals::will_copy(copied);
}

void Collector::call_begins(CUcontext context, nvbit_api_cuda_t cbid, CUfunction launched) {
    if (calls_ && recording_.on()) calls_->begins(cbid, context, launched);
}

void Collector::call_returns(nvbit_api_cuda_t cbid, const char* name, const void* params, CUresult result) {
    if (!calls_ || !recording_.on()) return;
    const uint64_t clock = CallTotals::clock();
    // That work is not done yet is an answer.
    const bool failed = result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
    calls_->returns(clock, cbid, name, {result, failed, result == CUDA_SUCCESS ? call_bytes(cbid, params) : 0});
}

// --- The end ---

Totals Collector::totals() const {
    Totals totals;
    totals.launches_seen = tally_.seen;
    totals.launches_measured = drain_.launches_measured() + tally_.harmless;
    totals.launches_lost = tally_.lost + tally_.unfollowed + drain_.launches_lost();
    totals.launches_outside = window_.launches_outside;
    totals.launches_native = tally_.seen - tally_.boarded - tally_.harmless - tally_.lost - totals.launches_outside;
    totals.accesses = drain_.accesses() + drain_.unmeasured();
    totals.copies = copies_.count();
    totals.copy_bytes = copies_.bytes();
    totals.copies_outside = window_.copies_outside;
    totals.records_written = drain_.records_written();
    totals.records_dropped = drain_.records_dropped();
    totals.unresolved_accesses = drain_.unresolved();
    totals.unmeasured_accesses = drain_.unmeasured();
    totals.unmeasured_sites = catalog_.unmeasured_sites();
    totals.errors = driver_errors;
    return totals;
}

void Collector::contradicted(const Context& context, const Flight& flight, uint32_t site) {
    std::string instruction = "an instruction";
    std::string roots;
    for (const FunctionAddresses::Site& one : flight.function->addresses->sites) {
        if (one.id != site) continue;
        instruction = one.text;
        for (const uint16_t word : flight.function->addresses->roots[one.roots].pointers) roots += " " + std::to_string(8 * word);
    }
    const Liveness::Without without = flight.function->liveness.distrust();
    tally_.harmless -= without.all;
    tally_.lost += without.all;
    const std::string text = "kernel " + without_arguments(flight.function->name) + ": " + instruction + " left GPU " +
                             std::to_string(context.gpu()) + ", although the parameters behind its address (at" + roots +
                             ") point to no other memory; all launches of the kernel run all probes from now on" +
                             (without.all ? ", and " + std::to_string(without.all) + " that ran without any count as lost" : "") +
                             (without.some ? "; " + std::to_string(without.some) + " that ran without some may lack counts" : "");
    if (notices_.note_once(text)) say(text);
}

Polled Collector::polled(uint64_t address) const {
    const std::vector<Object> objects = memory_.map().objects_in(address, 1);
    if (objects.empty()) return {memory_.map().owner_of(address).value_or(kOwnerUnknown), 0};
    return {objects.back().owner, objects.back().id};
}

HangReport Collector::hang_report(const std::optional<Drain::Look>& look) const {
    HangReport report;
    report.pid = process_.pid;
    report.host = process_.host;
    report.program = process_.program;
    report.ranks = process_.ranks;
    report.trace = path_;
    report.waits_recorded = options_.waits;
    report.answered = look.has_value();
    for (const GpuInfo& gpu : gpus_) report.gpus.push_back(gpu.uuid);
    const auto now = std::chrono::steady_clock::now();
    const auto since = [&](std::chrono::steady_clock::time_point time) { return std::chrono::duration<double>(now - time).count(); };
    if (const Boarding::Last last = boarding_.last(); !last.kernel.empty()) {
        report.last_kernel = without_arguments(last.kernel);
        report.last_seconds = since(last.time);
    }
    report.calls = collectives_.log().last();
    if (!look) return report;
    const auto owner = [](uint8_t code) { return code == kOwnerHost ? kHostMemory : code < kMaxGpus ? code : kUnknownMemory; };
    const auto add_store = [&](const StoreSum& store, std::vector<HangStore>* list) {
        if (list->size() < kMostStores) list->push_back({catalog_.name(store.site).place, store.gpu, owner(store.owner), store.accesses});
    };
    for (const StoreSum& store : look->stores.by_owner()) add_store(store, &report.stores);
    for (const Drain::Running& running : look->running) {
        HangKernel kernel{running.flight.launch,       without_arguments(running.flight.function->name),  running.gpu,
                          since(running.flight.begin), collectives_.log().of_group(running.flight.group), {}};
        for (const WaitGroup& group : wait_groups(running.waits, [this](uint64_t address) { return polled(address); })) {
            const Catalog::Name name = catalog_.name(group.longest.site);
            HangWait wait;
            wait.place = name.place;
            wait.instruction = name.instruction;
            wait.warps = group.warps;
            wait.blocks = group.blocks;
            wait.first_block = group.first_block;
            wait.seconds = static_cast<double>(group.longest.end - group.longest.start) * 1e-9;
            wait.address = group.longest.address;
            wait.owner = owner(group.polled.owner);
            for (const Object& object : memory_.map().objects_in(group.longest.address, 1)) {
                wait.object = object.id;
                wait.object_bytes = object.bytes;
                wait.offset = group.longest.address - object.address;
            }
            for (const uint32_t object : {group.polled.object, 0u})  // 0: of objects that share pages
                if (wait.stores.empty())
                    for (const StoreSum& store : look->stores.to(group.polled.owner, object)) add_store(store, &wait.stores);
            kernel.waits.push_back(std::move(wait));
        }
        report.kernels.push_back(std::move(kernel));
    }
    return report;
}

void Collector::stalled(const Context& context, const Flight& flight, std::chrono::seconds since) {
    const std::string kernel = without_arguments(flight.function->name);
    const std::string text = "kernel " + kernel + " on GPU " + std::to_string(context.gpu()) + " has reached no other memory for " +
                             std::to_string(since.count()) +
                             " s: it seems to wait for another kernel, another process or the host; if it finishes without the tool, "
                             "exclude it with KERNEL_NAME";
    say(text);
    notices_.note(text);
    for (const std::string& sentence : sentences_of(hang_report(drain_.look_now()))) say(sentence);
    if (!options_.exit_on_stall || !recording_.end_launches()) return;
    end_ranges(&preloaded_library().ranges(), &notices_);
    recording_.end();
    drain_.write_open_waits();
    if (stacks_) stacks_->write_symbols(kSymbolTime, on_thread_);
    memory_use_.stop();
    Totals totals = this->totals();
    if (calls_) calls_->stop();
    totals.launches_lost += tally_.boarded - drain_.launches_measured() - drain_.launches_lost() - tally_.unfollowed;
    writer_.finish(footer_json(now_ns(), now_ns(), totals));
    say("ending the program because of STALL=exit; the trace is " + path_);
    std::_Exit(3);
}

void Collector::finish() {
    if (recording_.forked()) {
        writer_.abandon();
        return;
    }
    if (!recording_.end_launches()) return;
    const OwnCalls own;
    drain_.stop();
    recording_.exit(now_ns());

    memory_.end_publishing();
    memory_events_.program_exits();
    if (calls_) calls_->flush();
    end_ranges(&preloaded_library().ranges(), &notices_);
    if (options_.launch_sample != 1) write_sampling(contexts_, &writer_);
    if (stacks_) stacks_->write_symbols(kSymbolTime, on_thread_);
    if (const uint64_t lanes = drain_.misdirected())
        notices_.note(plural(lanes, "lane access", "es") +
                      " could not be attributed to a launch and are in no count: kernels were launched on several GPUs at the same moment");
    if (const uint64_t waits = drain_.waits_dropped())
        notices_.note(plural(waits, "wait") +
                      " of kernels had no room in the ring and are in no table: narrow the run with KERNEL_NAME, or "
                      "record fewer accesses with SAMPLE_SIZE");
    note_waits_for_counters(contexts_, &notices_);
    const Totals totals = this->totals();
    writer_.checkpoint(footer_json(recording_.exit_ns(), now_ns(), totals));

    if (const std::string error = writer_.error(); !error.empty()) {
        say("the trace " + path_ + " is incomplete: " + error);
        return;
    }
    say(last_line(totals, path_));
}

void Collector::look_for_freed() {
    if (recording_.exiting() && recording_.on()) memory_events_.look_for_freed();
}

void Collector::close() {
    if (recording_.forked() || !recording_.exiting() || !recording_.end()) return;
    if (hang_server_) hang_server_->stop();
    memory_events_.end();
    memory_use_.stop();
    if (calls_) calls_->stop();
    const bool was_whole = writer_.error().empty();
    writer_.finish(footer_json(recording_.exit_ns(), now_ns(), totals()));
    if (const std::string error = writer_.error(); was_whole && !error.empty()) say("the trace " + path_ + " is incomplete: " + error);
}

void Collector::give_up(const char* why) {
    if (!recording_.end() || !recording_.end_launches()) return;
    say("stopped recording to " + path_ + ": " + why + "; to see what was recorded before, open it with --allow-truncated");
    // Nobody tells it any more which contexts end.
    drain_.leave();
}

}  // namespace snoopie
