#include "settings/options.h"

namespace snoopie {

namespace {

std::string trim(const std::string& text) {
    const size_t first = text.find_first_not_of(" \t\n");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

}  // namespace

std::variant<Options, OptionError> read_options(const Environment& environment) {
    Options options;
    for (const auto& [variable, option, recorded, meaning, rule] : kSettings) {
        const char* given = environment(variable);
        const std::string value = trim(given ? given : "");
        if (!value.empty() && !rule.read(rule, value, &options))
            return OptionError{std::string(variable) + "=" + value + ": use " + rule.allowed()};
    }
    return options;
}

}  // namespace snoopie
