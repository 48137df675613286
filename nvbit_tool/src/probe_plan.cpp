#include "probe_plan.h"

#include <optional>

namespace snoopie {

namespace {

// None where the instruction's operands are not as expected.
std::optional<Probe> measuring_probe(const Instruction& instruction, const Opcode& opcode, bool tensor_maps) {
    if (opcode.reference >= instruction.references.size()) return std::nullopt;
    const MemoryReference& reference = instruction.references[opcode.reference];
    Probe probe;
    probe.reference = opcode.reference;
    switch (opcode.kind) {
        case Opcode::Kind::addressed:
            probe.kind = reference.register_pair ? Probe::Kind::registers : Probe::Kind::address;
            // The only operand of LDGSTS that is a predicate; those of other instructions are results.
            if (instruction.references.size() == 2 && !instruction.predicates.empty()) {
                if (!reference.register_pair) return std::nullopt;
                probe.kind = Probe::Kind::source;
                probe.predicate = instruction.predicates.front();
            }
            return probe;
        case Opcode::Kind::bulk:
            if (!reference.uniform || reference.immediate != 0 || instruction.uniform_registers.empty()) return std::nullopt;
            probe.kind = Probe::Kind::bulk;
            probe.size_register = instruction.uniform_registers.front();
            return probe;
        case Opcode::Kind::tensor: {
            if (!tensor_maps || !reference.uniform || reference.immediate != 0) return std::nullopt;
            const MemoryReference& other = instruction.references[1 - opcode.reference];
            if (!other.uniform) return std::nullopt;
            probe.kind = Probe::Kind::tensor;
            probe.first_coordinate = other.reg + opcode.coordinates;
            probe.rank = opcode.rank;
            return probe;
        }
        default:
            return std::nullopt;
    }
}

}  // namespace

ProbePlan plan_probes(const std::vector<Instruction>& instructions, bool tensor_maps) {
    ProbePlan plan;
    for (size_t i = 0; i < instructions.size(); ++i) {
        const Opcode opcode = decode_opcode(instructions[i].opcode, instructions[i].touches_memory);
        if (opcode.kind == Opcode::Kind::local) continue;
        const std::optional<Probe> measuring = measuring_probe(instructions[i], opcode, tensor_maps);
        Probe probe = measuring.value_or(Probe());
        probe.site = plan.sites.size();
        plan.probes.push_back(probe);
        plan.sites.push_back({i, opcode, measuring.has_value()});
    }
    return plan;
}

}  // namespace snoopie
