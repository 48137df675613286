#include "trace/console_lines.h"

#include <algorithm>

namespace snoopie {

namespace {

// What the trace will hold.
std::string content(const Options& options) {
    std::string records = "no records";
    if (options.sample_size == 1) records = "every record";
    if (options.sample_size > 1) records = "1 record in " + std::to_string(options.sample_size);
    return "exact counts, " + records + (options.code_attribution ? ", source lines" : ", no source lines");
}

}  // namespace

std::string plural(uint64_t count, const char* noun, const char* ending) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : ending);
}

std::string first_line(const Options& options, const std::vector<GpuInfo>& gpus, const std::string& path) {
    const std::string kernels = options.kernels.empty() ? "all kernels" : "kernels " + options.kernels_text();
    const auto visible = static_cast<uint64_t>(std::count_if(gpus.begin(), gpus.end(), [](const GpuInfo& gpu) { return gpu.visible; }));
    return "recording accesses to other GPUs' and the host's memory by " + kernels + " on " + plural(visible, "GPU") + " (" +
           content(options) + ") to " + path;
}

std::string last_line(const Totals& totals, const std::string& path) {
    std::string line = "recorded " + plural(totals.accesses - totals.unmeasured_accesses, "access", "es") + " in " +
                       plural(totals.launches_measured, "launch", "es") + ", " + plural(totals.records_written, "record") + ", " +
                       std::to_string(totals.records_dropped) + " dropped";
    if (totals.launches_lost) line += "; " + plural(totals.launches_lost, "launch", "es") + " could not be measured";
    return line + "; open it with: snoopie view " + path;
}

}  // namespace snoopie
