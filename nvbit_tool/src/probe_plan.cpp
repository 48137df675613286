#include "probe_plan.h"

namespace snoopie {

ProbePlan plan_probes(const std::vector<Instruction>& instructions) {
    ProbePlan plan;
    for (size_t i = 0; i < instructions.size(); ++i) {
        const Instruction& instruction = instructions[i];
        const Opcode opcode = decode_opcode(instruction.opcode, instruction.touches_memory);
        if (opcode.kind == Opcode::Kind::local) continue;
        const bool measured = opcode.kind == Opcode::Kind::addressed && opcode.reference < instruction.references.size();
        if (measured) plan.probes.push_back({plan.sites.size(), opcode.reference});
        plan.sites.push_back({i, opcode, measured});
    }
    return plan;
}

}  // namespace snoopie
