// The two JSON blocks of a trace: the header, written first, and the footer, written last.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "settings/options.h"

namespace snoopie {

struct GpuInfo {
    std::string uuid;
    std::string name;
    std::string pci;
    uint64_t memory = 0;
    int sm = 0;
    int nvlinks = -1;     // -1: not known
    bool visible = true;  // to this process; one that is not can still own memory that it imports
};

struct LinkInfo {
    int issuer = 0;
    int owner = 0;
    bool access = false;
    bool native_atomics = false;
    int rank = 0;
};

struct ProcessInfo {
    std::string host;
    int pid = 0;
    std::string program;
    std::vector<std::string> command;
    std::string directory;
    uint64_t start_ns = 0;
    RunId run;
    std::map<std::string, std::string> environment;
    std::map<std::string, std::string> ranks;
};

struct ToolInfo {
    std::string version;
    std::string nvbit;
    std::string cuda;    // that the tool was built with
    std::string driver;  // that it runs on
    // Of a tool that records less than the collector: whose records these are, and what they lack, in the words of snoopie/trace/lacks.py.
    std::string imported_from{};
    std::vector<std::string> lacks{};
};

// What this process is, from the operating system. `run`: the id of its run, as it was named; "" = by nobody.
ProcessInfo this_process(const std::string& run);

std::string header_json(const ToolInfo& tool, const Options& options, const std::string& output, const ProcessInfo& process,
                        const std::vector<GpuInfo>& gpus, const std::vector<LinkInfo>& links);
// `settings`: a JSON object, of a tool with settings of its own.
std::string header_json(const ToolInfo& tool, const std::string& settings, const ProcessInfo& process, const std::vector<GpuInfo>& gpus,
                        const std::vector<LinkInfo>& links);

struct Totals {
    uint64_t launches_seen = 0;
    uint64_t launches_native = 0;
    uint64_t launches_measured = 0;
    uint64_t launches_lost = 0;
    uint64_t launches_outside = 0;     // of what was to be recorded: before, after or between it
    uint64_t accesses = 0;             // the sum of all counts
    uint64_t unresolved_accesses = 0;  // of these, to memory of an unknown owner
    uint64_t unmeasured_accesses = 0;  // of these, by sites that are not measured
    uint64_t records_written = 0;
    uint64_t records_dropped = 0;
    uint64_t unmeasured_sites = 0;
    uint64_t errors = 0;
    uint64_t copies = 0;
    uint64_t copy_bytes = 0;
    uint64_t copies_outside = 0;
};

// `exit_ns`: when the program began to exit. `end_ns`: when the last row was written.
std::string footer_json(uint64_t exit_ns, uint64_t end_ns, const Totals& totals);

}  // namespace snoopie
