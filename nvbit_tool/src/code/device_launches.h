// Kernels that kernels launch. Such a launch passes no driver call, so nothing of it can be measured: its calls are counted as sites, and
// the kernels that can be its target run their original code always, because the counters of instrumented code belong to a launch by the
// host.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "code/cubin.h"

namespace snoopie {

struct DeviceLaunches {
    std::unordered_map<std::string, std::vector<uint32_t>> calls;  // function → offsets of the instructions that launch
    std::unordered_set<std::string> targets;                       // functions whose address is taken, in a module that launches

    static DeviceLaunches find(const Cubin& module);
};

}  // namespace snoopie
