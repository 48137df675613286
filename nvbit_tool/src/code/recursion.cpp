#include "code/recursion.h"

#include <map>
#include <string_view>
#include <vector>

namespace snoopie {

namespace {

using Calls = std::map<std::string_view, std::vector<std::string_view>>;

enum class Mark { under_way, free, recursive };

// Depth first, with a stack of its own: a chain of calls can be long.
void search(const Calls& calls, std::string_view start, std::map<std::string_view, Mark>* marks) {
    struct Step {
        std::string_view function;
        size_t next = 0;
        bool recursive = false;
    };
    std::vector<Step> steps{{start}};
    marks->emplace(start, Mark::under_way);
    while (!steps.empty()) {
        Step& step = steps.back();
        const auto called = calls.find(step.function);
        if (called != calls.end() && step.next < called->second.size()) {
            const std::string_view callee = called->second[step.next++];
            const auto [mark, is_new] = marks->emplace(callee, Mark::under_way);
            if (is_new)
                steps.push_back({callee});
            else
                step.recursive |= mark->second != Mark::free;
            continue;
        }
        const Step done = step;
        steps.pop_back();
        (*marks)[done.function] = done.recursive ? Mark::recursive : Mark::free;
        if (done.recursive && !steps.empty()) steps.back().recursive = true;
    }
}

}  // namespace

std::unordered_set<std::string> recursive_functions(const Cubin& module) {
    Calls calls;
    for (const auto& [caller, callee] : module.calls()) calls[caller].push_back(callee);
    std::map<std::string_view, Mark> marks;
    for (const auto& entry : calls)
        if (marks.count(entry.first) == 0) search(calls, entry.first, &marks);
    std::unordered_set<std::string> found;
    for (const auto& [function, mark] : marks)
        if (mark == Mark::recursive) found.emplace(function);
    return found;
}

}  // namespace snoopie
