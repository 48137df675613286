// Which instructions of a function get a probe, and how the probe learns the address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "code/listing.h"
#include "code/opcode.h"

namespace snoopie {

// One memory operand. `register_pair`: the address is the 64-bit value of registers `reg` and `reg`+1 plus `immediate`, nothing else.
// `uniform`: it is in uniform registers from `reg` on.
struct MemoryReference {
    bool register_pair = false;
    bool uniform = false;
    int reg = 0;
    int immediate = 0;
};

// A predicate among the operands, not the instruction's guard; PT, which always holds, is kAlways.
struct PredicateOperand {
    static constexpr int kAlways = 7;
    int number = kAlways;
    bool negated = false;
};

struct Instruction {
    uint32_t offset = 0;
    std::string sass;
    std::string opcode;
    bool touches_memory = false;  // the disassembler files it under a space that can be another GPU's
    std::vector<MemoryReference> references;
    std::vector<int> uniform_registers;  // operands that are one
    std::vector<PredicateOperand> predicates;
};

struct PlannedSite {
    size_t instruction = 0;  // index
    Opcode opcode;
    bool measured = false;
};

struct Probe {
    enum class Kind {
        registers,  // the address is a pair of registers and an immediate
        address,    // NVBit computes the address
        source,     // either of these, and a predicate without which a lane reads nothing: of a copy into shared memory
        bulk,       // of a bulk copy: a pair of uniform registers and a uniform register with the size
        tensor,     // of a tensor copy: a pair of uniform registers, and `rank` uniform registers with coordinates
        executed,   // not measured: only how often it runs is counted
    };
    Kind kind = Kind::executed;
    size_t site = 0;             // index in ProbePlan::sites
    size_t reference = 0;        // index in Instruction::references
    bool guarded = false;        // the instruction has a guard
    PredicateOperand predicate;  // of a source
    int size_register = 0;
    int first_coordinate = 0;
    int rank = 0;
};

// An injected call.
struct PlannedCall {
    size_t instruction = 0;  // it comes before this one,
    std::vector<size_t>
        probes;  // and does what these would. Several are all of Kind::registers, and those that are guarded have this guard:
    int guard = SassLine::kAlways;
    bool guard_negated = false;
    // The instruction and all accesses of the call have this guard, in which lanes do not differ: no lane that has it false need come to
    // the call.
    bool guard_common = false;
};

struct ProbePlan {
    std::vector<PlannedSite> sites;  // every instruction that can touch another GPU's memory, in order
    std::vector<Probe> probes;       // one for each site
    std::vector<PlannedCall> calls;
};

// The sites and their probes. `tensor_maps`: whether tensor maps can be decoded on this driver and GPU.
ProbePlan plan_probes(const std::vector<Instruction>& instructions, bool tensor_maps);

Listing listing_of(const std::vector<Instruction>& instructions, const BranchTargets& branches = {});

// The calls, for the plan's probes. `listing`: of these instructions. `packing`: at most so many accesses share a call. `groups`: of each
// probe, see PackableAccess; empty = all are of one.
std::vector<PlannedCall> plan_calls(const std::vector<Instruction>& instructions, const Listing& listing, ProbePlan& plan, size_t packing,
                                    const std::vector<int>& groups = {});

}  // namespace snoopie
