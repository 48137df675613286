#include "trace/trace_header.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "trace/json.h"
#include "trace/owners.h"
#include "trace/schema.h"

extern char** environ;

namespace snoopie {

namespace {

// Variables that change which GPUs a process sees or how its libraries communicate; the settings are recorded as well.
constexpr std::array kEnvironmentPrefixes = {"CUDA_", "NCCL_", "NVSHMEM_", "UCX_", "SNOOPIE_"};

// Where launchers put ranks: Open MPI; MPICH, nvshmrun (Hydra) and Cray's PALS; PMIx; Slurm; torchrun.
constexpr std::array kRanks = {"OMPI_COMM_WORLD_RANK",
                               "OMPI_COMM_WORLD_LOCAL_RANK",
                               "OMPI_COMM_WORLD_SIZE",
                               "PMI_RANK",
                               "PMI_SIZE",
                               "PMI_LOCAL_RANK",
                               "MPI_LOCALRANKID",
                               "PMIX_RANK",
                               "SLURM_PROCID",
                               "SLURM_LOCALID",
                               "SLURM_NTASKS",
                               "RANK",
                               "LOCAL_RANK",
                               "WORLD_SIZE"};

bool is_recorded(const std::string& variable) {
    return std::any_of(kEnvironmentPrefixes.begin(), kEnvironmentPrefixes.end(),
                       [&](const char* prefix) { return variable.rfind(prefix, 0) == 0; }) ||
           std::any_of(std::begin(kSettings), std::end(kSettings), [&](const Setting& setting) { return variable == setting.variable; });
}

std::vector<std::string> read_command() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    std::vector<std::string> words;
    for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find('\0', start), text.size());
        words.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return words;
}

std::string settings_json(const Options& options, const std::string& output) {
    JsonWriter json;
    json.begin_object();
    for (const Setting& setting : kSettings) {
        if (!*setting.recorded) continue;
        const std::string value = setting.rule.show(setting.rule, options);
        json.key(setting.recorded);
        if (setting.rule.kind == Kind::flag)
            json.value(value == "1");
        else if (setting.rule.kind == Kind::number)
            json.raw(value);
        else
            json.value(value);
    }
    return json.member("output", output).end_object().text();
}

}  // namespace

ProcessInfo this_process(const std::string& run) {
    ProcessInfo process;
    char buffer[4096];
    if (gethostname(buffer, sizeof buffer) == 0) process.host = buffer;
    if (getcwd(buffer, sizeof buffer)) process.directory = buffer;
    process.pid = getpid();
    process.program = program_invocation_short_name;
    process.command = read_command();
    process.start_ns = now_ns();
    process.run =
        find_run(run, getenv, process.host + "-" + std::to_string(process.pid) + "-" + std::to_string(process.start_ns / 1000000000));
    for (char** variable = environ; *variable; ++variable) {
        const std::string text = *variable;
        const size_t equals = text.find('=');
        if (equals == std::string::npos) continue;
        const std::string name = text.substr(0, equals);
        if (is_recorded(name)) process.environment[name] = text.substr(equals + 1);
        for (const char* rank : kRanks)
            if (name == rank) process.ranks[name] = text.substr(equals + 1);
    }
    return process;
}

std::string header_json(const ToolInfo& tool, const Options& options, const std::string& output, const ProcessInfo& process,
                        const std::vector<GpuInfo>& gpus, const std::vector<LinkInfo>& links) {
    return header_json(tool, settings_json(options, output), process, gpus, links);
}

std::string header_json(const ToolInfo& tool, const std::string& settings, const ProcessInfo& process, const std::vector<GpuInfo>& gpus,
                        const std::vector<LinkInfo>& links) {
    JsonWriter json;
    json.begin_object().member("format", "snoopie").member("version", kFormatVersion);
    json.key("tool").begin_object();
    json.member("version", tool.version).member("nvbit", tool.nvbit).member("cuda", tool.cuda).member("driver", tool.driver);
    if (!tool.imported_from.empty()) {
        json.member("imported_from", tool.imported_from).key("lacks").begin_array();
        for (const std::string& what : tool.lacks) json.value(what);
        json.end_array();
    }
    json.end_object();
    json.key("settings").raw(settings);
    json.key("process").begin_object();
    json.member("host", process.host).member("pid", process.pid).member("program", process.program);
    json.key("command").begin_array();
    for (const std::string& word : process.command) json.value(word);
    json.end_array();
    json.member("directory", process.directory).member("start_ns", process.start_ns);
    json.key("run").begin_object().member("id", process.run.id).member("of", kIdOfNames[static_cast<size_t>(process.run.of)]).end_object();
    for (const auto& [name, values] : {std::pair("environment", &process.environment), std::pair("ranks", &process.ranks)}) {
        json.key(name).begin_object();
        for (const auto& [variable, value] : *values) json.member(variable, value);
        json.end_object();
    }
    json.end_object();
    json.key("gpus").begin_array();
    for (const GpuInfo& gpu : gpus) {
        json.begin_object().member("uuid", gpu.uuid).member("name", gpu.name).member("pci", gpu.pci).member("memory", gpu.memory);
        json.member("sm", gpu.sm).member("nvlinks", gpu.nvlinks).member("visible", gpu.visible).end_object();
    }
    json.end_array();
    json.key("links").begin_array();
    for (const LinkInfo& link : links) {
        json.begin_object().member("issuer", link.issuer).member("owner", link.owner).member("access", link.access);
        json.member("native_atomics", link.native_atomics).member("rank", link.rank).end_object();
    }
    json.end_array();
    json.key("owners").begin_object().member("host", int{kOwnerHost}).member("unknown", int{kOwnerUnknown});
    json.member("first_set", int{kFirstSet}).end_object();
    json.key("operations").begin_array();
    for (const char* name : kOperationNames) json.value(name);
    json.end_array();
    json.key("codes").begin_array();
    for (const char* name : kCodeNames) json.value(name);
    json.end_array();
    json.key("copy_kinds").begin_array();
    for (const char* name : kCopyKindNames) json.value(name);
    json.end_array();
    json.key("object_kinds").begin_array();
    for (const char* name : kObjectKindNames) json.value(name);
    json.end_array();
    json.key("directions").begin_array();
    for (const char* name : kDirectionNames) json.value(name);
    json.end_array();
    json.key("schema").raw(schema_json());
    return json.end_object().text();
}

std::string footer_json(uint64_t exit_ns, uint64_t end_ns, const Totals& totals) {
    JsonWriter json;
    json.begin_object().member("exit_ns", exit_ns).member("end_ns", end_ns);
    json.key("totals").begin_object();
    json.member("launches_seen", totals.launches_seen).member("launches_native", totals.launches_native);
    json.member("launches_measured", totals.launches_measured).member("launches_lost", totals.launches_lost);
    json.member("launches_outside", totals.launches_outside).member("copies_outside", totals.copies_outside);
    json.member("accesses", totals.accesses).member("copies", totals.copies).member("copy_bytes", totals.copy_bytes);
    json.member("unresolved_accesses", totals.unresolved_accesses).member("unmeasured_accesses", totals.unmeasured_accesses);
    json.member("records_written", totals.records_written).member("records_dropped", totals.records_dropped);
    json.member("unmeasured_sites", totals.unmeasured_sites).member("errors", totals.errors);
    return json.end_object().end_object().text();
}

}  // namespace snoopie
