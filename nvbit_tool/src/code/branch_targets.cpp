#include "code/branch_targets.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "code/function_info.h"

namespace snoopie {

namespace {

BranchTargets targets_in(std::string_view section) {
    constexpr uint8_t kIndirectBranches = 0x34;  // of each: its offset, four bytes about its table, how many places, and these
    BranchTargets branches;
    bool damaged = false;
    const bool whole = visit_attributes(section, [&](uint8_t kind, Reader value) {
        if (kind != kIndirectBranches) return;
        while (!value.at_end() && value.ok()) {
            std::vector<uint32_t>& targets = branches[value.read<uint32_t>()];
            value.read<uint32_t>();
            for (auto count = value.read<uint32_t>(); count > 0 && value.ok(); --count) targets.push_back(value.read<uint32_t>());
        }
        damaged |= !value.ok();
    });
    return whole && !damaged ? branches : BranchTargets();
}

}  // namespace

std::unordered_map<std::string, BranchTargets> branch_targets_of(const Cubin& cubin) {
    std::unordered_map<std::string, BranchTargets> found;
    for (const auto& [function, section] : cubin.sections(".nv.info."))
        if (BranchTargets branches = targets_in(section); !branches.empty()) found.emplace(function, std::move(branches));
    return found;
}

}  // namespace snoopie
