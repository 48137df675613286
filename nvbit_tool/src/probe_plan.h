// Which instructions of a function get a probe, and how the probe learns the address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "opcode.h"

namespace snoopie {

// One memory operand. `register_pair`: the address is the 64-bit value of registers `reg` and `reg`+1 plus `immediate`, nothing else.
struct MemoryReference {
    bool register_pair = false;
    int reg = 0;
    int immediate = 0;
};

struct Instruction {
    uint32_t offset = 0;
    std::string sass;
    std::string opcode;
    bool touches_memory = false;  // the disassembler files it under a space that can be another GPU's
    std::vector<MemoryReference> references;
};

struct PlannedSite {
    size_t instruction = 0;  // index
    Opcode opcode;
    bool measured = false;
};

struct Probe {
    size_t site = 0;       // index in ProbePlan::sites
    size_t reference = 0;  // index in Instruction::references
};

struct ProbePlan {
    std::vector<PlannedSite> sites;  // every instruction that can touch another GPU's memory, in order
    std::vector<Probe> probes;       // one for each measured site
};

ProbePlan plan_probes(const std::vector<Instruction>& instructions);

}  // namespace snoopie
