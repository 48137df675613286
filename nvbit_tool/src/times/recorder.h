// The clean recording of one process: what CUPTI tells of its kernels and copies, in a trace. Begins when the driver is initialized, ends
// with the process.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/recording.h"
#include "phases/window.h"
#include "settings/options.h"
#include "times/buffers.h"
#include "times/cupti.h"
#include "times/kept_ranges.h"
#include "times/launch_log.h"
#include "times/machine.h"
#include "trace/trace_header.h"

namespace snoopie {

class Recorder {
  public:
    // Null, with a sentence in *why, if CUPTI is not there or refuses. Never to be destroyed: CUPTI can still call while the process ends.
    static std::unique_ptr<Recorder> start(const Options& options, std::string* why);

    // Of CUPTI, on any thread:
    uint8_t* buffer();
    void completed(uint8_t* buffer, size_t valid) { buffers_.completed(buffer, valid); }
    void launching(uint32_t correlation) {
        if (!recording_.forked() && !recording_.ending()) launches_.note(correlation, !window_.open());
    }

    // The program exits: takes what CUPTI still has, and closes the trace.
    void finish();

  private:
    Recorder(const Options& options, const ProcessInfo& process, cupti::Library library);

    std::string enable();
    bool hear_launches();
    void run();
    void take_records();
    void record(ActivityBuffers::Full first);
    void write(TraceWriter* writer, const std::string& path, const Machine& machine, ActivityBuffers::Full first);
    void record_no_ranges();

    const Options options_;
    const ProcessInfo process_;  // from its start: the first buffer can come when it ends
    const cupti::Library cupti_;
    Window window_;
    Recording recording_;
    ActivityBuffers buffers_;
    LaunchLog launches_;
    KeptRanges ranges_{&recording_};
    bool heard_ = false;             // launches are: before the first of them
    std::atomic<bool> used_{false};  // CUPTI has a buffer
    std::thread thread_;
};

}  // namespace snoopie
