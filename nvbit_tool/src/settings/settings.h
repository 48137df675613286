// The settings, declared once: what each is called, means, allows, and is by default. The collector reads and records them by this table;
// `make settings` writes it to snoopie/cli/settings.json, from which `snoopie run` has its options and docs/settings.md its table.
//
// A new setting is a member of Options, with its default, and a row of kSettings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/probe_abi.h"
#include "settings/disassembly.h"
#include "settings/rule.h"
#include "settings/run_id.h"

namespace snoopie {

// Which probes a launch runs: those of accesses that may leave the GPU, or all; or all, to check that no other leaves it.
enum class Probes : uint8_t { live, full, check };

// What is recorded of the program's driver calls.
enum class Calls : uint8_t { off, summary, all };

// Of which launches the times on the GPU are recorded: of those that are measured, of all, or of none.
enum class Times : uint8_t { measured, all, off };
// Of CAPTURE_RANGE: between the program's calls of cudaProfilerStart and Stop.
inline constexpr char kProfilerApi[] = "profiler-api";

struct Options {
    std::vector<std::string> kernels;  // patterns; empty = all
    uint32_t sample_size = 1;          // records of 1 in so many accesses; 0 = no records, counts only
    uint32_t launch_sample = 1;        // measure 1 launch in so many of each kernel
    std::string blocks_text = "all";   // as given
    BlockFilter blocks;                // the thread blocks that are measured
    bool host_memory = true;           // whether accesses to the host's memory are measured
    Calls calls = Calls::summary;      // sums, or also each call
    Times times = Times::measured;     //
    bool code_attribution = true;      // whether source lines are recorded
    bool code_context = true;          // whether launches, copies and objects have call stacks
    bool object_attribution = true;    // whether objects have them, and counts have objects
    bool source = true;                // whether the text of files with remote lines is kept
    std::string output;                // a pattern; empty = the default
    std::string run;                   // the run's id; empty = that of a launcher, or one of its own
    bool disassembly_cache = true;     //
    Probes probes = Probes::live;      //
    bool waits = false;                // whether it is recorded where kernels poll
    uint32_t packing = kMostPacked;    // at most so many accesses share an injected call
    uint32_t patience = 60;            // seconds until a kernel without progress is reported; 0 = never
    bool exit_on_stall = false;        // whether such a kernel ends the process
    std::string capture_range;         // the range in which is recorded, or kProfilerApi; empty = always
    uint32_t launch_skip = 0;          // measure none of the first so many launches
    uint32_t launch_count = 0;         // and at most so many after them; 0 = all
    uint32_t delay = 0;                // seconds before anything is recorded
    uint32_t duration = 0;             // seconds for which it is then; 0 = to the end

    std::string kernels_text() const;
};

struct Setting {
    const char* variable;
    const char* option;    // of `snoopie run`, with the name of its value: "-s, --sample-size N"; a flag's option turns over its default
    const char* recorded;  // its name among the settings in a trace's header; "" = not there
    const char* meaning;   // of a flag: what 1 has the collector do, so that "do not" can stand before it
    Rule rule;
};

bool read_kernels(const Rule& rule, const std::string& value, Options* options);
bool read_blocks(const Rule& rule, const std::string& value, Options* options);
bool read_output(const Rule& rule, const std::string& value, Options* options);
// For settings that `disassemble` reads: it runs too often to complain of them, so the collector does.
bool check_nothing(const Rule& rule, const std::string& value, Options* options);
bool check_byte_size(const Rule& rule, const std::string& value, Options* options);
std::string show_kernels(const Rule& rule, const Options& options);
std::string show_blocks(const Rule& rule, const Options& options);
std::string show_output(const Rule& rule, const Options& options);
bool read_run(const Rule& rule, const std::string& value, Options* options);
std::string show_run(const Rule& rule, const Options& options);
bool read_capture_range(const Rule& rule, const std::string& value, Options* options);
std::string show_capture_range(const Rule& rule, const Options& options);
template <const char* const& Default>
std::string show_default(const Rule&, const Options&) {
    return Default;
}

constexpr Rule text(const char* form, const char* pattern, decltype(Rule::read) read, decltype(Rule::show) show) {
    return {Kind::text, "", 0, 0, form, pattern, read, show};
}

// clang-format off
inline constexpr Setting kSettings[] = {
    {"KERNEL_NAME", "-k, --kernels KERNELS", "kernels",
     "kernels to measure; the others run at full speed",
     text("all, or names separated by commas, with or without namespace, template arguments and argument list; *, ? and [a-z] match as in "
          "a shell; nccl and nvshmem stand for the kernels of these libraries",
          "(?! *,)(?!.*, *(,|$)).*", read_kernels, show_kernels)},
    {"SAMPLE_SIZE", "-s, --sample-size N", "sample_size",
     "record 1 in N accesses with its addresses; 0 records none; counts are exact in any case",
     number<&Options::sample_size>(0, UINT32_MAX)},
    {"LAUNCH_SAMPLE", "--launch-sample N", "launch_sample",
     "measure 1 in N launches of each kernel: the first, then one at a random place in every N; the others run at nearly full speed; "
     "counts cover the measured launches only",
     number<&Options::launch_sample>(1, UINT32_MAX)},
    {"CAPTURE_RANGE", "--capture-range RANGE", "capture_range",
     "record only while a thread of the program is in this range",
     text("the name of a range (NVTX or snoopie.region), NAME@DOMAIN for one of a domain alone, or profiler-api for the time between "
          "cudaProfilerStart and cudaProfilerStop",
          "", read_capture_range, show_capture_range)},
    {"LAUNCH_SKIP", "--launch-skip N", "launch_skip",
     "do not measure the process's first N launches of selected kernels",
     number<&Options::launch_skip>(0, UINT32_MAX)},
    {"LAUNCH_COUNT", "--launch-count N", "launch_count",
     "measure at most N launches of selected kernels; 0 measures all",
     number<&Options::launch_count>(0, UINT32_MAX)},
    {"DELAY", "--delay S", "delay",
     "record nothing for the first S seconds, from the first CUDA context on",
     number<&Options::delay>(0, 1000000)},
    {"DURATION", "--duration S", "duration",
     "record for S seconds; 0 records to the end",
     number<&Options::duration>(0, 1000000)},
    {"BLOCKS", "-b, --blocks BLOCKS", "blocks",
     "thread blocks to measure",
     text("all, linear indices and ranges as in 0-7,12, or ranges by axis as in x:0-3;y:1,3; at most 32 ranges an axis",
          "all"
          "|[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?){0,31}"
          "|[xyz]:[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?){0,31}(;[xyz]:[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?){0,31}){0,2}",
          read_blocks, show_blocks)},
    {"HOST_MEMORY", "--no-host-memory", "host_memory",
     "measure accesses to host memory",
     flag<&Options::host_memory>()},
    {"CALLS", "--calls WHAT", "calls",
     "driver calls to record: summary adds them up once a second by call, kernel, thread, GPU and direction, but for those that only ask "
     "(for the current GPU, an attribute, whether a stream is captured); all records each call, these too",
     choice<&Options::calls>("off|summary|all")},
    {"TIMES", "--times WHICH", "times",
     "launches whose times on the GPU are recorded, by events around them: those that are measured, all (also of kernels that are not "
     "measured, at a few microseconds of host time a launch), or none (off)",
     choice<&Options::times>("measured|all|off")},
    {"CODE_ATTRIBUTION", "--no-lines", "code_attribution",
     "record the source line of each instruction",
     flag<&Options::code_attribution>()},
    {"SOURCE", "--no-source", "source",
     "keep the text of source files whose lines reach other memory, up to 1 MiB of a file and 32 MiB in all; needs source lines",
     flag<&Options::source>()},
    {"CODE_CONTEXT", "--no-stacks", "code_context",
     "record C++ and Python (3.11 to 3.14) call stacks of launches, copies and allocations",
     flag<&Options::code_context>()},
    {"DATA_OBJECT_ATTRIBUTION", "--no-objects", "object_attribution",
     "record the allocation behind each access and the call stack that made it",
     flag<&Options::object_attribution>()},
    {"SNOOPIE_OUTPUT", "-o, --output OUT", "",
     "where to write the trace; no file is overwritten: a name with %p that is taken gets -2, -3, … before its ending",
     text("a folder or a file name; %h stands for the host, %p for the process ID, %n for the program, %% for a percent sign",
          "([^%]|%[hpn%])*", read_output, show_output)},
    {kRunVariable, "", "",
     "a name for the run that the process belongs to; snoopie run gives all that it starts the same; else the launcher's job is the name (Open "
     "MPI, PMIx, PALS, PMI, Slurm, torchrun)",
     text("up to 100 letters, digits and ._@:+-", "[A-Za-z0-9._@:+-]{1,100}", read_run, show_run)},
    {"DISASSEMBLY_CACHE", "", "",
     "keep the disassembly of kernels for later runs",
     flag<&Options::disassembly_cache>()},
    {kCacheVariable, "", "",
     "folder of the disassembly cache",
     text("a folder", "", check_nothing, show_default<kDefaultCache>)},
    {kCacheSizeVariable, "", "",
     "size limit of the disassembly cache; the least recently used entries are evicted; 0 keeps nothing",
     text("a number of bytes, or one with K, M, G or T for powers of 1024", "[0-9]+[KMGT]?", check_byte_size,
          show_default<kDefaultCacheSize>)},
    {kNvdisasmVariable, "", "",
     "the nvdisasm to run for functions that the cache does not have",
     text("a program, by its path or its name on PATH", "", check_nothing, show_default<kDefaultNvdisasm>)},
    {"PROBES", "--probes WHICH", "probes",
     "which accesses of measured kernels run probes: live leaves out those whose parameters point only to their GPU's own memory, launch by "
     "launch; full runs all probes; check does too, and reports each access that live would have missed",
     choice<&Options::probes>("live|full|check")},
    {"WAITS", "--waits WHETHER", "waits",
     "record where kernels poll memory until it changes, how long, and whose memory it is; looks at the code of every selected kernel, and costs "
     "two calls at each poll",
     choice<&Options::waits>("off|on")},
    {"PACKING", "", "packing",
     "how many accesses may share one injected call; 1 gives each its own, for comparison",
     number<&Options::packing>(1, kMostPacked)},
    {"PATIENCE", "", "",
     "seconds after which a running kernel that makes no progress is reported; 0 never reports",
     number<&Options::patience>(0, UINT32_MAX)},
    {"STALL", "", "",
     "what to do about a kernel that makes no progress: report it, or also end the program, with its trace complete",
     choice<&Options::exit_on_stall>("report|exit")},
};
// clang-format on

}  // namespace snoopie
