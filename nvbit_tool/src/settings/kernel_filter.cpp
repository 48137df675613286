#include "settings/kernel_filter.h"

#include <fnmatch.h>

#include <algorithm>

namespace snoopie {

namespace {

bool opens(char c) { return c == '<' || c == '(' || c == '['; }
bool closes(char c) { return c == '>' || c == ')' || c == ']'; }

// Position of the first character of `wanted` outside all brackets, or npos. "->" and operator names do not occur at depth 0 in kernels.
size_t find_outside(const std::string& text, const char* wanted, size_t from = 0) {
    int depth = 0;
    for (size_t i = from; i < text.size(); ++i) {
        if (depth == 0 && std::string(wanted).find(text[i]) != std::string::npos) return i;
        if (opens(text[i])) ++depth;
        if (closes(text[i]) && depth > 0) --depth;
    }
    return std::string::npos;
}

void add(std::vector<std::string>* names, const std::string& name) {
    if (!name.empty() && std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

// "(anonymous namespace)::" and "{lambda()#1}" start with a bracket that is no argument list.
size_t find_arguments(const std::string& text) {
    size_t from = 0;
    while (true) {
        const size_t at = find_outside(text, "(", from);
        if (at == std::string::npos || text.compare(at, 11, "(anonymous ") != 0) return at;
        const size_t end = text.find(')', at);
        if (end == std::string::npos) return end;
        from = end + 1;
    }
}

std::string after_last_scope(const std::string& text) {
    size_t start = 0;
    for (size_t i = 0; (i = find_outside(text, ":", i)) != std::string::npos; ++i) start = i + 1;
    return text.substr(start);
}

}  // namespace

std::string without_arguments(const std::string& demangled) { return demangled.substr(0, find_arguments(demangled)); }

std::vector<std::string> spellings(const std::string& demangled) {
    std::vector<std::string> names;
    add(&names, demangled);
    const std::string plain = without_arguments(demangled);
    const size_t space = find_outside(plain, " ");
    const bool has_return_type = space != std::string::npos && plain.compare(0, 11, "(anonymous ") != 0;
    if (has_return_type) add(&names, demangled.substr(space + 1));
    add(&names, plain);
    const std::string scoped = has_return_type ? plain.substr(space + 1) : plain;
    add(&names, scoped);
    const std::string last = after_last_scope(scoped);
    add(&names, last);
    // The template list is the one that ends the name; those of enclosing scopes stay.
    for (const std::string& name : {scoped, last}) {
        if (name.empty() || name.back() != '>') continue;
        int depth = 0;
        for (size_t i = name.size(); i-- > 0;) {
            if (name[i] == '>') ++depth;
            if (name[i] == '<' && --depth == 0) {
                add(&names, name.substr(0, i));
                break;
            }
        }
    }
    return names;
}

bool KernelFilter::parse(const std::string& text, std::vector<std::string>* patterns) {
    patterns->clear();
    size_t start = 0;
    while (true) {
        const size_t comma = find_outside(text, ",", start);
        std::string pattern = text.substr(start, comma == std::string::npos ? comma : comma - start);
        const size_t first = pattern.find_first_not_of(' ');
        pattern = first == std::string::npos ? "" : pattern.substr(first, pattern.find_last_not_of(' ') - first + 1);
        if (pattern.empty()) return false;
        if (std::count(pattern.begin(), pattern.end(), '[') != std::count(pattern.begin(), pattern.end(), ']')) return false;
        patterns->push_back(pattern);
        if (comma == std::string::npos) break;
        start = comma + 1;
    }
    // "all" among names means all.
    if (std::find(patterns->begin(), patterns->end(), "all") != patterns->end()) patterns->clear();
    return true;
}

KernelFilter::KernelFilter(const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
        if (pattern == "nccl") {
            patterns_.insert(patterns_.end(), {"ncclDevKernel*", "ncclKernel*", "ncclSymk*"});
        } else if (pattern == "nvshmem") {
            // Its barriers and collectives do not bear its name.
            patterns_.insert(patterns_.end(), {"*nvshmem*", "*_on_stream_kernel*"});
        } else {
            patterns_.push_back(pattern);
        }
    }
}

bool KernelFilter::selects(const std::string& demangled, const std::string& mangled) const {
    if (patterns_.empty()) return true;
    std::vector<std::string> names = spellings(demangled);
    names.push_back(mangled);
    for (const std::string& pattern : patterns_)
        for (const std::string& name : names)
            if (pattern == name || fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
    return false;
}

}  // namespace snoopie
