#include "settings/run_id.h"

#include <algorithm>
#include <string_view>

namespace snoopie {

namespace {

constexpr size_t kLongest = 100;

bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._@:+-").find(c) != std::string_view::npos;
}

// Of any text.
std::string as_id(std::string text) {
    std::replace_if(text.begin(), text.end(), [](char c) { return !is_plain(c); }, '_');
    text.resize(std::min(text.size(), kLongest));
    return text;
}

}  // namespace

bool is_run_id(const std::string& text) {
    return !text.empty() && text.size() <= kLongest && std::all_of(text.begin(), text.end(), is_plain);
}

RunId find_run(const std::string& named, const std::function<const char*(const char*)>& environment, const std::string& own) {
    if (!named.empty()) return {named, IdOf::run};
    for (const Launcher& launcher : kLaunchers) {
        std::string id = launcher.name;
        bool complete = true;
        for (const char* variable : {launcher.variable, launcher.also}) {
            if (!*variable) continue;
            const char* value = environment(variable);
            const bool last = variable == launcher.also || !*launcher.also;
            complete = complete && value && *value && !(last && *launcher.never && std::string_view(value).rfind(launcher.never, 0) == 0);
            if (complete) id += (variable == launcher.variable ? "-" : ".") + std::string(value);
        }
        if (complete) return {as_id(id), launcher.comes_again ? IdOf::job : IdOf::run};
    }
    return {as_id(own), IdOf::process};
}

}  // namespace snoopie
