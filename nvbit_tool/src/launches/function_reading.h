// What is known of a function from its code alone: it is read once for all GPUs of a process, as nothing of it depends on the context.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "code/device_launches.h"
#include "code/line_table.h"
#include "code/parameters.h"
#include "code/polling.h"
#include "code/probe_plan.h"
#include "code/roots.h"
#include "trace/catalog.h"

class Instr;

namespace snoopie {

// What is read from the module that holds the function.
struct ModuleReading {
    std::unordered_map<std::string, KernelParameters> parameters;   // by the kernel's name in the module
    std::unordered_map<std::string, BranchTargets> branch_targets;  // by the function's
    LineTable lines;
    DeviceLaunches launches;
    std::unordered_set<std::string> recursive;
};

struct FunctionReading {
    std::vector<Instruction> instructions;  // only their offsets where there is no site
    ProbePlan plan;
    std::vector<size_t> launch_calls;  // instructions that call for a launch: their sites follow those of the plan
    std::vector<Poll> polls;
    std::unordered_map<size_t, std::optional<BranchPredicate>> exit_predicates;  // by the branches that leave polls
    std::vector<Roots> roots;                                                    // of the plan's probes
    LaunchPaths paths;                           // with the places where they are unknown, and where words are read
    std::optional<KernelParameters> parameters;  // of a kernel whose addresses were followed
    FunctionDescription description;
};

class FunctionReader {
  public:
    using Notify = std::function<void(const std::string&)>;

    // `packing`: how many accesses may share a call. `finds_roots`: whether addresses are followed.
    FunctionReader(uint32_t packing, bool finds_roots, Notify notify)
        : packing_(packing), finds_roots_(finds_roots), notify_(std::move(notify)) {}

    struct Names {
        std::string name;
        std::string mangled;
        bool kernel = false;
    };
    FunctionReading read(const Names& names, const ModuleReading& module, const std::vector<Instr*>& instrs, bool tensor_maps) const;

  private:
    const uint32_t packing_;
    const bool finds_roots_;
    const Notify notify_;
};

}  // namespace snoopie
