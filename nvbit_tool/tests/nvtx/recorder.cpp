// The collector's part of NVTX and of snoopie.h as a library to preload, with the real writer behind it. Kernels are launched by
// fake_launch: each that is recorded stores `bytes` from GPU 0 in GPU 1.  SNOOPIE_OUTPUT names the trace; settings are the collector's.
#include <cstdlib>
#include <memory>
#include <variant>

#include "base/clock.h"
#include "base/recording.h"
#include "base/thread_id.h"
#include "driver/injection.h"
#include "libraries/collective_writer.h"
#include "phases/range_writer.h"
#include "phases/wanted.h"
#include "phases/window.h"
#include "settings/options.h"
#include "settings/output_path.h"
#include "trace/catalog.h"
#include "trace/trace_header.h"

using namespace snoopie;

namespace {

struct Recorder {
    Recorder(const Options& options, int fd, const ProcessInfo& process)
        : writer(fd,
                 header_json({"0.1.0", "", "", ""}, options, "", process,
                             {{"GPU-0", "H200", "", 0, 90, 18}, {"GPU-1", "H200", "", 0, 90, 18}}, {}),
                 TraceWriter::Settings{}),
          catalog(&writer, nullptr),
          ranges(&writer, [this] { return recording.on(); }),
          window(options, process.start_ns, &wanted(), &Ranges::of_process()),
          collectives(&writer, &window) {
        FunctionDescription put{"put(float*)", "_Z3putPf", true, true, {}};
        put.sites.push_back({0x10, "STG.E [R2], R5", "STG.E", Operation::store, 1, true, {{"/src/put.cu", 3, ""}}});
        kernel = catalog.add(put);
        Ranges::of_process().send_to(&ranges);
        send_collectives_to(&collectives);
    }

    Recording recording;
    TraceWriter writer;
    Catalog catalog;
    RangeWriter ranges;
    Window window;
    CollectiveWriter collectives;
    Catalog::Entry kernel;
    Totals totals;
};

Recorder* recorder = nullptr;

void end() {
    if (recorder->recording.forked()) return;
    Ranges::of_process().give_up_open();
    recorder->totals.launches_outside = recorder->window.launches_outside;
    recorder->writer.finish(footer_json(now_ns(), now_ns(), recorder->totals));
}

__attribute__((constructor)) void at_load() { name_the_library_to_nvtx(); }

}  // namespace

extern "C" {

// As the first CUDA context does.
void fake_context() {
    const auto options = read_options(getenv);
    std::string why;
    OutputFile file{std::get<Options>(options).output, false};
    const int fd = create_output(&file, &why);
    if (fd < 0) abort();
    recorder = new Recorder(std::get<Options>(options), fd, this_process(""));
    std::atexit(end);
}

void fake_launch(unsigned bytes) {
    ++recorder->totals.launches_seen;
    if (!recorder->window.takes_launch()) return;
    const auto launch = static_cast<u4>(++recorder->totals.launches_measured);
    recorder->writer.append(
        LaunchRow{launch, recorder->kernel.function, 0, 0, thread_id(), now_ns(), 1, 1, 1, 32, 1, 1, 0, current_collective_group(1), 0, 0});
    recorder->writer.append(CountRow{launch, recorder->kernel.first_site, 1, 1, bytes, (bytes + 15) / 16, 0});
    ++recorder->totals.accesses;
}

void fake_profiler(int on) { wanted().by_profiler(on != 0); }

}  // extern "C"
