#include "times/recorder.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/attempt.h"
#include "base/clock.h"
#include "base/say.h"
#include "base/signals.h"
#include "libraries/nccl_ranges.h"
#include "settings/output_path.h"
#include "times/activities.h"
#include "trace/console_lines.h"
#include "trace/json.h"
#include "trace/notices.h"

namespace snoopie {

namespace {

// CUPTI hands buffers over when they are full, or when it is asked: a process that is killed loses no more than this.
constexpr std::chrono::milliseconds kFlushPeriod{1000};
// Of records: CUPTI fills some while others are read.
constexpr size_t kBuffersAtFirst = 4;

// What the trace lacks, as snoopie/trace/lacks.py has it.
const std::vector<std::string> kLacks = {"allocations",
                                         "when memory was freed",
                                         "driver calls",
                                         "which calls failed",
                                         "the sizes of what calls copy, set or allocate",
                                         "which memory kernels access"};

Recorder* recorder = nullptr;

void give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
    *buffer = recorder->buffer();
    *size = *buffer ? ActivityBuffers::kBytes : 0;
    *most_records = 0;
}

void take_back(cupti::Context, uint32_t, uint8_t* buffer, size_t, size_t valid) { recorder->completed(buffer, valid); }

void hear(void*, int, uint32_t callback, const cupti::CallData* call) {
    if (callback == cupti::kProfilerStart || callback == cupti::kProfilerStop) {
        if (call->site != cupti::kBegins) wanted().by_profiler(callback == cupti::kProfilerStart);
    } else if (call->site == cupti::kBegins) {
        recorder->launching(call->correlation);
    }
}

// What the program says itself. Seconds and numbers of launches would be others in the exact recording, which takes longer and selects
// kernels: the launches of one would not be those of the other.
Options said_by_program(const Options& options) {
    Options said;
    said.capture_range = options.capture_range;
    return said;
}

std::string version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

std::string header(const ProcessInfo& process, const Machine& machine, const std::string& path, const std::string& capture_range) {
    ToolInfo tool;
    tool.version = SNOOPIE_VERSION;
    tool.driver = version_text(driver_cuda_version());
    tool.imported_from = "CUPTI";
    tool.lacks = kLacks;
    JsonWriter settings;
    settings.begin_object().member("copy_times", "device").member("output", path);
    if (!capture_range.empty()) settings.member("capture_range", capture_range);
    settings.end_object();
    return header_json(tool, settings.text(), process, machine.gpus, machine.links);
}

std::string counted_copies(uint64_t number) { return std::to_string(number) + (number == 1 ? " copy" : " copies"); }

void note_lost(const Activities& activities, uint64_t dropped, Notices* notices) {
    if (dropped)
        notices->note("CUPTI dropped " + plural(dropped, "record") +
                      " because its buffers were full: so many kernels, copies or calls are missing");
    if (activities.homeless()) notices->note(plural(activities.homeless(), "record") + " of GPUs that are not known left out");
    const std::pair<std::string, Activities::Within> within[] = {
        {counted_copies(activities.copies_within().number), activities.copies_within()},
        {plural(activities.memsets().number, "memset"), activities.memsets()}};
    for (const auto& [what, amount] : within)
        if (amount.number)
            notices->note(what + " (" + plural(amount.bytes, "byte") +
                          ") within one GPU's or the host's memory crossed no link: without rows");
}

}  // namespace

Recorder::Recorder(const Options& options, const ProcessInfo& process, cupti::Library library)
    : options_(options),
      process_(process),
      cupti_(std::move(library)),
      window_(said_by_program(options), 0, &wanted(), &Ranges::of_process()) {}

std::unique_ptr<Recorder> Recorder::start(const Options& options, std::string* why) {
    const ProcessInfo process = this_process(options.run);
    const auto library = cupti::load(process.command.empty() ? "" : process.command.front(), driver_cuda_version() / 1000, why);
    if (!library) return nullptr;
    std::unique_ptr<Recorder> made(new Recorder(options, process, *library));
    // Before the first callback, which comes while it is enabled.
    recorder = made.get();
    *why = made->enable();
    if (why->empty()) {
        Ranges::of_process().send_to(&made->ranges_);
        NcclRanges::of_process().send_to(&made->ranges_);
        attempt([&] { made->thread_ = std::thread([self = made.get()] { self->run(); }); },
                [&](const char* failure) { *why = std::string("the recorder cannot be started: ") + failure; });
    }
    if (why->empty()) return made;
    // CUPTI may have kept the callbacks. What they note nobody takes.
    made->recording_.end_launches();
    made->record_no_ranges();
    static_cast<void>(made.release());
    return nullptr;
}

std::string Recorder::enable() {
    // First: CUPTI takes no subscriber while it already records.
    heard_ = hear_launches();
    uint8_t zeroed = 1;
    size_t size = sizeof zeroed;
    if (cupti_.set_attribute) cupti_.set_attribute(cupti::kZeroedBuffers, &size, &zeroed);
    cupti::Result result = cupti_.register_callbacks(give_buffer, take_back);
    for (const cupti::Kind kind : {cupti::Kind::concurrent_kernel, cupti::Kind::memcpy, cupti::Kind::memcpy_peer, cupti::Kind::memset})
        if (result == 0) result = cupti_.enable(kind);
    if (result != 0)
        return "CUPTI (" + cupti_.path + ") refuses: " + cupti_.text(result) +
               "; end other profilers of this process, or give it a CUPTI that fits the driver: pip install nvidia-cuda-cupti";
    // Only who launched what is of interest: all calls would cost more. Records of calls do, too, but need no subscriber, of which there
    // can be one. A CUPTI that cannot choose records none.
    if (!heard_ && cupti_.enable_driver_call) {
        if (cupti_.set_thread_id_type) cupti_.set_thread_id_type(cupti::kSystemThreadIds);
        for (const uint32_t call : cupti::kDriverLaunches) cupti_.enable_driver_call(call, 1);
    }
    return "";
}

bool Recorder::hear_launches() {
    cupti::Subscriber subscriber = nullptr;
    if (!cupti_.subscribe || !cupti_.enable_callback || cupti_.subscribe(&subscriber, hear, nullptr) != 0) return false;
    // Each CUPTI knows those of its own time.
    for (const uint32_t call : cupti::kDriverLaunches) cupti_.enable_callback(1, subscriber, cupti::kDriverCalls, call);
    for (const uint32_t call : {cupti::kProfilerStart, cupti::kProfilerStop})
        cupti_.enable_callback(1, subscriber, cupti::kDriverCalls, call);
    return true;
}

uint8_t* Recorder::buffer() {
    // The driver has registered its end by now, so this runs before that: CUPTI has to be asked while it can still answer.
    static std::once_flag registered;
    std::call_once(registered, [this] {
        used_ = true;
        std::atexit([] { recorder->finish(); });
    });
    return buffers_.take();
}

void Recorder::record_no_ranges() {
    Ranges::of_process().send_to(nullptr);
    ranges_.stop();
}

void Recorder::run() {
    block_all_signals();
    attempt([this] { take_records(); },
            [this](const char* why) {
                record_no_ranges();
                attempt([why] { say(std::string("stopped recording times: ") + why); });
            });
}

void Recorder::take_records() {
    buffers_.prepare(kBuffersAtFirst);
    // The driver is still being initialized: who the GPUs are is asked when the first work has been done.
    while (!buffers_.ended()) {
        if (const auto full = buffers_.next(kFlushPeriod)) return record(*full);
        // Not before it has a buffer: the driver may still be in the call that has loaded this.
        if (used_ && !recording_.ending()) cupti_.flush_all(0);
    }
}

void Recorder::record(ActivityBuffers::Full first) {
    OutputFile file = output_file(options_.output, {process_.host, std::to_string(process_.pid), process_.program}, process_.directory);
    std::string why;
    const int fd = create_output(&file, &why);
    const Machine machine = fd < 0 ? Machine() : this_machine();
    std::optional<TraceWriter> opened;
    if (fd >= 0)
        attempt([&] { opened.emplace(fd, header(process_, machine, file.path, options_.capture_range), TraceWriter::Settings{}); },
                [&](const char* failure) {
                    // It would look like the trace of an idle program.
                    unlink(file.path.c_str());
                    why = std::string("the recorder cannot be started: ") + failure;
                });
    if (!opened) {
        record_no_ranges();
        return say(why + "; nothing is recorded");
    }
    write(&*opened, file.path, machine, first);
}

void Recorder::write(TraceWriter* writer, const std::string& path, const Machine& machine, ActivityBuffers::Full first) {
    Notices notices(writer);
    RangeWriter range_writer(writer, [this] { return recording_.on(); });
    CollectiveWriter collective_writer(writer);
    Activities activities(writer, machine.visible);
    uint64_t dropped = 0;
    const auto add = [&](const ActivityBuffers::Full& full) {
        cupti::Record* record = nullptr;
        while (cupti_.next_record(full.buffer, full.valid, &record) == 0) activities.add(*record);
        activities.end_of_buffer();
        size_t more = 0;
        if (cupti_.dropped_records(nullptr, 0, &more) == 0) dropped += more;
    };
    // What runs out of memory ends the trace, and leaves the program alone: its ranges may go to these writers until `stop`.
    writer->guard([&] { ranges_.go_to(&range_writer, &collective_writer); });
    writer->guard(
        [&] { say("recording times of kernels and copies on " + plural(machine.visible, "GPU") + ", without probes, to " + path); });
    auto flushed = std::chrono::steady_clock::now();
    for (std::optional<ActivityBuffers::Full> full = first; full || !buffers_.ended(); full = buffers_.next(kFlushPeriod)) {
        writer->guard([&] {
            for (const LaunchLog::Note& note : launches_.take()) activities.called(note.correlation, note.called);
            if (full) add(*full);
        });
        if (full) {
            buffers_.put_back(*full);
            writer->wait_for_room();
        }
        if (const auto now = std::chrono::steady_clock::now(); now - flushed >= kFlushPeriod && !recording_.ending()) {
            cupti_.flush_all(0);
            flushed = now;
        }
    }
    writer->guard([&] {
        activities.finish();
        end_ranges(&Ranges::of_process(), &notices);
    });
    ranges_.stop();
    writer->guard([&] {
        if (const uint64_t lost = ranges_.lost())
            notices.note(std::to_string(lost) +
                         " ranges, marks and groups of NCCL's calls left out that ended before the first kernel or copy");
        if (const uint64_t lost = launches_.lost())
            notices.note(plural(lost, "launch", "es") + " came faster than could be taken: which thread made them is not known");
        note_lost(activities, dropped, &notices);
        if (!heard_ && !options_.capture_range.empty())
            notices.note("CAPTURE_RANGE was not heeded: another tool of the process hears the calls that launch");
        Totals totals;
        totals.launches_native = activities.launches();
        totals.launches_outside = activities.outside();
        totals.launches_seen = totals.launches_native + totals.launches_outside;
        totals.copies = activities.copies();
        totals.copy_bytes = activities.copied();
        writer->finish(footer_json(recording_.exit_ns(), now_ns(), totals));
    });
    attempt([&] {
        if (const std::string error = writer->error(); !error.empty()) return say("the trace " + path + " is incomplete: " + error);
        say("recorded the times of " + plural(activities.launches(), "launch", "es") + " and of " + counted_copies(activities.copies()) +
            " in " + path);
    });
}

void Recorder::finish() {
    // In a forked child there is neither a CUPTI nor a thread.
    if (recording_.forked() || !recording_.end_launches()) return;
    recording_.exit(now_ns());
    cupti_.flush_all(cupti::kFlushForced);
    buffers_.end();
    // CUPTI may call although it has refused.
    if (thread_.joinable()) thread_.join();
}

}  // namespace snoopie
