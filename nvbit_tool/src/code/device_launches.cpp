#include "code/device_launches.h"

#include <algorithm>
#include <array>

namespace snoopie {

namespace {

bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// Of the device's runtime, by the generations of dynamic parallelism.
bool launches(std::string_view function) {
    constexpr std::array<std::string_view, 4> kNames = {"__cudaCDP2LaunchDevice", "__cudaCDP2GraphLaunch", "cudaLaunchDevice",
                                                        "cudaGraphLaunch"};
    return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) { return begins_with(function, name); });
}

}  // namespace

DeviceLaunches DeviceLaunches::find(const Cubin& module) {
    constexpr std::string_view kText = ".text.";
    DeviceLaunches found;
    const std::vector<Cubin::Reference> references = module.references();
    for (const Cubin::Reference& reference : references) {
        if (!begins_with(reference.section, kText) || !launches(reference.symbol)) continue;
        const std::string_view caller = reference.section.substr(kText.size());
        // The runtime's own functions call each other.
        if (!launches(caller)) found.calls[std::string(caller)].push_back(static_cast<uint32_t>(reference.offset));
    }
    if (found.calls.empty()) return found;
    for (const Cubin::Reference& reference : references) {
        const bool by_program = begins_with(reference.section, kText) || begins_with(reference.section, ".nv.global") ||
                                begins_with(reference.section, ".nv.constant");
        const bool itself = begins_with(reference.section, kText) && reference.section.substr(kText.size()) == reference.symbol;
        if (reference.function && by_program && !itself) found.targets.insert(std::string(reference.symbol));
    }
    return found;
}

}  // namespace snoopie
