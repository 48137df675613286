// What the user sets: every variable, kernels by name, and where the trace goes.
#include <cstring>
#include <map>
#include <string>

#include "base/byte_size.h"
#include "settings/block_filter.h"
#include "settings/kernel_filter.h"
#include "settings/options.h"
#include "settings/output_path.h"
#include "settings/run_id.h"
#include "target.h"

using namespace snoopie;

// NAME=VALUE a line.
FUZZ_TARGET(options) {
    std::map<std::string, std::string> variables;
    for (const std::string& line : fuzz::lines_of(input)) {
        const size_t equals = line.find('=');
        if (equals != std::string::npos) variables[line.substr(0, equals)] = line.substr(equals + 1).c_str();
    }
    const auto environment = [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
    const auto read = read_options(environment);
    if (const auto* error = std::get_if<OptionError>(&read)) return fuzz::require(!error->sentence.empty(), "an error is a sentence");
    const auto& options = std::get<Options>(read);
    for (const Setting& setting : kSettings) {
        if (!*setting.recorded) continue;
        // What the trace says of a setting can be set again.
        Options again;
        const std::string shown = setting.rule.show(setting.rule, options);
        fuzz::require(shown.empty() || setting.rule.read(setting.rule, shown, &again), "what is shown can be read");
        fuzz::require(setting.rule.show(setting.rule, again) == shown, "and is the same then");
    }
    const RunId run = find_run(options.run, environment, "host-1-2");
    fuzz::require(is_run_id(run.id), "a run has an id");
    const OutputFile output = output_file(options.output, {"host", "1", "program"}, "/nowhere");
    fuzz::require(!output.path.empty() && output.path[0] == '/', "the trace has an absolute path");
}

// A pattern, and on the next lines a kernel's name and its mangled one.
FUZZ_TARGET(kernel_filter) {
    std::vector<std::string> lines = fuzz::lines_of(input);
    lines.resize(3);
    const std::string& name = lines[1];
    for (const std::string& spelling : spellings(name))
        fuzz::require(name.empty() || name.find(spelling) != std::string::npos, "a spelling is a part of the name");
    without_arguments(name);
    std::vector<std::string> patterns;
    if (!KernelFilter::parse(lines[0], &patterns)) return;
    const KernelFilter filter(patterns);
    fuzz::require(!patterns.empty() || filter.selects(name, lines[2]), "no pattern selects all");
    filter.selects(name, lines[2]);
}

FUZZ_TARGET(blocks) {
    BlockFilter filter{};
    if (parse_blocks(input, &filter))
        for (const uint32_t count : filter.counts) fuzz::require(count <= BlockFilter::kMaxRanges, "ranges fit");
    parse_byte_size(std::string(input));
}
