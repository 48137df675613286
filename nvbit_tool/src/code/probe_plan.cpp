#include "code/probe_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "code/common_guard.h"
#include "code/pack_words.h"
#include "code/probe_packing.h"
#include "probe/probe_abi.h"

namespace snoopie {

namespace {

// LDG.E R4, [R2.64], P0: a lane for which it does not hold reads nothing. Predicates before the address are results.
bool reads_under_predicate(const Instruction& instruction, const Opcode& opcode) {
    if (opcode.operation != Operation::load || instruction.predicates.empty()) return false;
    const std::optional<SassLine> line = parse_sass(instruction.sass);
    if (!line || line->operands.empty()) return false;
    const std::string_view last = line->operands.back();
    return last.substr(0, 1) == "P" || last.substr(0, 2) == "!P";
}

// None where the instruction's operands are not as expected.
std::optional<Probe> measuring_probe(const Instruction& instruction, const Opcode& opcode, bool tensor_maps) {
    if (opcode.reference >= instruction.references.size()) return std::nullopt;
    const MemoryReference& reference = instruction.references[opcode.reference];
    Probe probe;
    probe.reference = opcode.reference;
    switch (opcode.kind) {
        case Opcode::Kind::addressed:
            probe.kind = reference.register_pair ? Probe::Kind::registers : Probe::Kind::address;
            // The only operand of LDGSTS that is a predicate.
            if (instruction.references.size() == 2 && !instruction.predicates.empty()) {
                probe.kind = Probe::Kind::source;
                probe.predicate = instruction.predicates.front();
            }
            if (instruction.references.size() == 1 && reference.register_pair && reads_under_predicate(instruction, opcode)) {
                probe.kind = Probe::Kind::source;
                probe.predicate = instruction.predicates.back();
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

Listing listing_of(const std::vector<Instruction>& instructions, const BranchTargets& branches) {
    std::vector<uint32_t> offsets;
    std::vector<std::string_view> texts;
    for (const Instruction& instruction : instructions) {
        offsets.push_back(instruction.offset);
        texts.push_back(instruction.sass);
    }
    return listing_of(offsets, texts, branches);
}

std::vector<PlannedCall> plan_calls(const std::vector<Instruction>& instructions, const Listing& listing, ProbePlan& plan, size_t packing,
                                    const std::vector<int>& groups) {
    std::vector<PlannedCall> calls;
    std::vector<PackableAccess> accesses;
    std::vector<size_t> probes;
    for (size_t i = 0; i < plan.probes.size(); ++i) {
        const Probe& probe = plan.probes[i];
        const size_t at = plan.sites[probe.site].instruction;
        const std::optional<SassLine>& line = listing.lines[at];
        if (probe.kind != Probe::Kind::registers || !line || line->guard_uniform) {
            calls.push_back({at, {i}});
            continue;
        }
        const MemoryReference& reference = instructions[at].references[probe.reference];
        if (!fits_pack(reference.immediate)) {
            calls.push_back({at, {i}});
            continue;
        }
        accesses.push_back({at, reference.reg, line->guard, line->guard_negated, groups.empty() ? 0 : groups[i]});
        plan.probes[i].guarded = accesses.back().guarded();
        probes.push_back(i);
    }
    for (const Pack& pack : pack_accesses(listing.effects, listing.begins, accesses, packing)) {
        // What the probe of a pack can be told is limited: any part of the pack can be called where all of it could.
        PlannedCall call;
        std::set<int> pairs;
        for (const size_t access : pack.accesses) {
            pairs.insert(accesses[access].reg);
            if (pairs.size() > kMostPairs) {
                calls.push_back(call);
                call = {};
                pairs = {accesses[access].reg};
            }
            call.instruction = pack.instruction;
            if (accesses[access].guarded()) {
                call.guard = accesses[access].guard;
                call.guard_negated = accesses[access].guard_negated;
            }
            call.probes.push_back(probes[access]);
        }
        calls.push_back(call);
    }
    // One by itself comes before its own instruction, whose guard its probe takes.
    for (PlannedCall& call : calls)
        if (call.probes.size() == 1) call.instruction = plan.sites[plan.probes[call.probes.front()].site].instruction;
    for (PlannedCall& call : calls) {
        const std::optional<SassLine>& line = listing.lines[call.instruction];
        if (!line || !has_common_guard(listing, call.instruction)) continue;
        const bool same = line->guard == call.guard && line->guard_negated == call.guard_negated;
        call.guard_common = same && std::all_of(call.probes.begin(), call.probes.end(), [&](size_t i) { return plan.probes[i].guarded; });
    }
    return calls;
}

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
