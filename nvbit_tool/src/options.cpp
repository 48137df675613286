#include "options.h"

#include <charconv>
#include <cstring>

#include "kernel_filter.h"
#include "output_path.h"

namespace snoopie {

namespace {

std::string trim(const std::string& text) {
    const size_t first = text.find_first_not_of(" \t\n");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

OptionError refuse(const char* name, const std::string& value, const std::string& allowed) {
    return {std::string(name) + "=" + value + " is not understood: " + allowed};
}

}  // namespace

std::string Options::kernels_text() const {
    if (kernels.empty()) return "all";
    std::string text;
    for (const std::string& pattern : kernels) text += (text.empty() ? "" : ",") + pattern;
    return text;
}

std::variant<Options, OptionError> read_options(const Environment& environment) {
    Options options;
    const auto get = [&](const char* name) {
        const char* value = environment(name);
        return trim(value ? value : "");
    };

    if (const std::string value = get("KERNEL_NAME"); !value.empty() && value != "all") {
        if (const std::string error = KernelFilter::parse(value, &options.kernels); !error.empty())
            return refuse("KERNEL_NAME", value, error);
    }
    if (const std::string value = get("CODE_ATTRIBUTION"); !value.empty()) {
        if (value != "0" && value != "1") return refuse("CODE_ATTRIBUTION", value, "1 records source lines (the default), 0 does not");
        options.code_attribution = value == "1";
    }
    if (const std::string value = get("SAMPLE_SIZE"); !value.empty()) {
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, options.sample_size);
        if (error != std::errc() || stop != end)
            return refuse("SAMPLE_SIZE", value,
                          "a whole number n from 0 to 4294967295 records 1 of n accesses (1, all of them, is the default; 0 records none)");
    }
    options.output = get("SNOOPIE_OUTPUT");
    if (const std::string error = check_output_pattern(options.output); !error.empty())
        return refuse("SNOOPIE_OUTPUT", options.output, error);
    return options;
}

}  // namespace snoopie
