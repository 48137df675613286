#include "settings/settings.h"

#include "base/byte_size.h"
#include "settings/block_filter.h"
#include "settings/kernel_filter.h"
#include "settings/output_path.h"

namespace snoopie {

std::string Options::kernels_text() const {
    if (kernels.empty()) return "all";
    std::string text;
    for (const std::string& pattern : kernels) text += (text.empty() ? "" : ",") + pattern;
    return text;
}

bool read_kernels(const Rule&, const std::string& value, Options* options) { return KernelFilter::parse(value, &options->kernels); }
std::string show_kernels(const Rule&, const Options& options) { return options.kernels_text(); }

bool read_blocks(const Rule&, const std::string& value, Options* options) {
    options->blocks_text = value;
    return parse_blocks(value, &options->blocks);
}
std::string show_blocks(const Rule&, const Options& options) { return options.blocks_text; }

bool read_output(const Rule&, const std::string& value, Options* options) {
    options->output = value;
    return is_output_pattern(value);
}
std::string show_output(const Rule&, const Options& options) { return options.output.empty() ? kDefaultFileName : options.output; }

bool read_run(const Rule&, const std::string& value, Options* options) {
    options->run = value;
    return is_run_id(value);
}
std::string show_run(const Rule&, const Options& options) { return options.run; }

bool read_capture_range(const Rule&, const std::string& value, Options* options) {
    options->capture_range = value;
    return true;
}
std::string show_capture_range(const Rule&, const Options& options) { return options.capture_range; }

bool check_nothing(const Rule&, const std::string&, Options*) { return true; }
bool check_byte_size(const Rule&, const std::string& value, Options*) { return parse_byte_size(value).has_value(); }

}  // namespace snoopie
