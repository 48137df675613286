#include "launches/function_reading.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/demangle.h"
#include "code/listing.h"
#include "nvbit.h"
#include "settings/kernel_filter.h"

namespace snoopie {

namespace {

bool may_be_foreign(InstrType::MemorySpace space) {
    switch (space) {
        case InstrType::MemorySpace::GENERIC:
        case InstrType::MemorySpace::GLOBAL:
        case InstrType::MemorySpace::GLOBAL_TO_SHARED:
        case InstrType::MemorySpace::SURFACE:
        case InstrType::MemorySpace::TEXTURE:
        case InstrType::MemorySpace::TENSOR_MEM:
            return true;
        default:
            return false;
    }
}

Instruction describe(Instr* instr) {
    Instruction instruction;
    instruction.offset = instr->getOffset();
    instruction.sass = instr->getSass();
    // From here on NVBit decodes it, which takes longer than all else that is done to it.
    if (!names_memory(instruction.sass)) return instruction;
    instruction.opcode = instr->getOpcode();
    instruction.touches_memory = may_be_foreign(instr->getMemorySpace());
    for (int i = 0; i < instr->getNumOperands(); ++i) {
        const InstrType::operand_t* operand = instr->getOperand(i);
        if (operand->type == InstrType::OperandType::UREG) instruction.uniform_registers.push_back(operand->u.reg.num);
        if (operand->type == InstrType::OperandType::PRED) instruction.predicates.push_back({operand->u.pred.num, operand->is_not});
        if (operand->type != InstrType::OperandType::MREF) continue;
        const auto& mref = operand->u.mref;
        MemoryReference reference;
        // A descriptor (desc[UR4]) is a caching policy and adds nothing to the address; a uniform register outside it does.
        reference.register_pair =
            mref.has_ra && mref.ra_mod == InstrType::RegModifierType::U64 && mref.ra_num != InstrType::RZ && !mref.has_ur;
        reference.uniform = mref.has_ur && !mref.has_ra;
        reference.reg = reference.uniform ? mref.ur_num : mref.ra_num;
        reference.immediate = mref.has_imm ? mref.imm : 0;
        instruction.references.push_back(reference);
    }
    return instruction;
}

LineChain chain_of(const LineTable& table, const std::string& function, uint32_t offset) {
    LineChain chain;
    for (const LineTable::Line* line = table.find(function, offset); line; line = table.caller(*line))
        if (line->number) chain.push_back({table.file(*line), line->number, demangled(table.function(*line).c_str())});
    return chain;
}

// What the address of each probe of a kernel is made from; unknown where that cannot be told.
std::vector<Roots> roots_of_probes(const Listing& listing, const ProbePlan& plan, const ParameterArea& area, LaunchPaths* paths) {
    std::vector<AddressOperand> operands;
    std::vector<size_t> probes;
    for (size_t i = 0; i < plan.probes.size(); ++i) {
        const Probe& probe = plan.probes[i];
        const size_t at = plan.sites[probe.site].instruction;
        // What is not measured is counted wherever it goes.
        if (probe.kind == Probe::Kind::executed || !listing.lines[at]) continue;
        const auto operand = address_operand(*listing.lines[at], probe.reference);
        if (!operand) continue;
        operands.push_back({at, *operand});
        probes.push_back(i);
    }
    std::vector<Roots> found = roots_of(listing, area, operands, paths);
    std::vector<Roots> roots(plan.probes.size());
    for (size_t i = 0; i < found.size(); ++i) roots[probes[i]] = std::move(found[i]);
    return roots;
}

// Of each probe, for calls: those whose addresses begin with the same pointers, and are unknown at the same places, may leave the GPU in
// the same launches.
std::vector<int> groups_of(const std::vector<Roots>& roots) {
    std::map<std::tuple<Roots::Any, std::vector<uint16_t>, std::vector<uint32_t>>, int> groups;
    std::vector<int> group;
    for (const Roots& one : roots) {
        const auto next = static_cast<int>(groups.size());
        group.push_back(one.unknown_always() ? -1 : groups.try_emplace({one.any, one.pointers, one.unknown_at}, next).first->second);
    }
    return group;
}

}  // namespace

FunctionReading FunctionReader::read(const Names& names, const ModuleReading& module, const std::vector<Instr*>& instrs,
                                     bool tensor_maps) const {
    FunctionReading reading;
    FunctionDescription& description = reading.description;
    description.name = names.name;
    description.mangled = names.mangled;
    description.kernel = names.kernel;
    description.has_lines = module.lines.has_lines(names.mangled);
    if (names.kernel && module.launches.targets.count(names.mangled)) {
        notify_("kernel " + without_arguments(names.name) +
                " can be launched by other kernels: its accesses are not measured, even where the host launches it");
        return reading;
    }
    std::vector<Instruction>& instructions = reading.instructions;
    for (Instr* instr : instrs) instructions.push_back(describe(instr));
    reading.plan = plan_probes(instructions, tensor_maps);
    const auto branches = module.branch_targets.find(names.mangled);
    const Listing listing = listing_of(instructions, branches == module.branch_targets.end() ? BranchTargets() : branches->second);
    const auto parameters = module.parameters.find(names.mangled);
    if (finds_roots_ && names.kernel && parameters != module.parameters.end()) {
        reading.parameters = parameters->second;
        reading.roots = roots_of_probes(listing, reading.plan, parameters->second.area, &reading.paths);
    }
    reading.plan.calls = plan_calls(instructions, listing, reading.plan, packing_, groups_of(reading.roots));
    const auto add_site = [&](SiteDescription site) {
        if (description.has_lines) site.lines = chain_of(module.lines, names.mangled, site.offset);
        description.sites.push_back(std::move(site));
    };
    reading.polls = find_polls(listing);
    std::set<size_t> polling;
    for (const Poll& poll : reading.polls) {
        polling.insert(poll.loads.begin(), poll.loads.end());
        for (const Poll::Exit& exit : poll.exits)
            reading.exit_predicates[exit.instruction] = branch_predicate(*listing.lines[exit.instruction]);
    }
    std::vector<bool> has_site(instructions.size());
    for (const PlannedSite& planned : reading.plan.sites) {
        const Instruction& instruction = instructions[planned.instruction];
        add_site({instruction.offset,
                  instruction.sass,
                  instruction.opcode,
                  planned.opcode.operation,
                  planned.opcode.width,
                  planned.measured,
                  {},
                  polling.count(planned.instruction) > 0});
        has_site[planned.instruction] = true;
    }
    const auto launching = module.launches.calls.find(names.mangled);
    for (size_t i = 0; launching != module.launches.calls.end() && i < instructions.size(); ++i) {
        const std::vector<uint32_t>& offsets = launching->second;
        if (std::find(offsets.begin(), offsets.end(), instructions[i].offset) == offsets.end()) continue;
        reading.launch_calls.push_back(i);
        add_site({instructions[i].offset, instructions[i].sass, "LAUNCH", Operation::load, 0, false, {}});
    }
    for (size_t i = 0; i < instructions.size(); ++i) {
        const uint32_t offset = instructions[i].offset;
        if (!has_site[i]) (instructions[i] = Instruction()).offset = offset;
    }
    return reading;
}

}  // namespace snoopie
