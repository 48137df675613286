#include "instrumenter.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "nvbit.h"
#include "probe_plan.h"

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
    instruction.opcode = instr->getOpcode();
    instruction.touches_memory = may_be_foreign(instr->getMemorySpace());
    for (int i = 0; i < instr->getNumOperands(); ++i) {
        const InstrType::operand_t* operand = instr->getOperand(i);
        if (operand->type != InstrType::OperandType::MREF) continue;
        const auto& mref = operand->u.mref;
        MemoryReference reference;
        // A descriptor (desc[UR4]) is a caching policy and adds nothing to the address; a uniform register outside it does.
        reference.register_pair =
            mref.has_ra && mref.ra_mod == InstrType::RegModifierType::U64 && mref.ra_num != InstrType::RZ && !mref.has_ur;
        reference.reg = mref.ra_num;
        reference.immediate = mref.has_imm ? mref.imm : 0;
        instruction.references.push_back(reference);
    }
    return instruction;
}

void inject(Instr* instr, const MemoryReference& reference, size_t index, uint32_t site_word, uint64_t state) {
    if (reference.register_pair) {
        nvbit_insert_call(instr, "snoopie_probe_registers", IPOINT_BEFORE);
        nvbit_add_call_arg_guard_pred_val(instr);
        nvbit_add_call_arg_reg_val(instr, reference.reg);
        nvbit_add_call_arg_reg_val(instr, reference.reg + 1);
        nvbit_add_call_arg_const_val32(instr, static_cast<uint32_t>(reference.immediate));
    } else {
        nvbit_insert_call(instr, "snoopie_probe_address", IPOINT_BEFORE);
        nvbit_add_call_arg_guard_pred_val(instr);
        nvbit_add_call_arg_mref_addr64(instr, static_cast<int>(index));
    }
    nvbit_add_call_arg_const_val32(instr, site_word);
    nvbit_add_call_arg_const_val64(instr, state);
    nvbit_add_call_arg_launch_val64(instr, 0);
}

uint32_t log2_of(uint8_t width) {
    uint32_t log2 = 0;
    while (1u << (log2 + 1) <= width) ++log2;
    return log2;
}

std::string demangled(const std::string& name) {
    int status = 0;
    char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    const std::string result = status == 0 ? text : name;
    free(text);
    return result;
}

LineChain chain_of(const LineTable& table, const std::string& function, uint32_t offset) {
    LineChain chain;
    for (const LineTable::Line* line = table.find(function, offset); line; line = table.caller(*line))
        if (line->number) chain.push_back({table.file(*line), line->number, demangled(table.function(*line))});
    return chain;
}

// What NVBit writes about the function's module: its cubin.
std::string read_module(CUcontext context, CUfunction function) {
    const int fd = memfd_create("snoopie-cubin", MFD_CLOEXEC);
    if (fd < 0) return "";
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    nvbit_dump_cubin(context, function, path.c_str());  // its result is false even when the file is complete
    std::string bytes;
    const off_t size = lseek(fd, 0, SEEK_END);
    if (size > 0) {
        bytes.resize(static_cast<size_t>(size));
        size_t done = 0;
        while (done < bytes.size()) {
            const ssize_t n = pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
            if (n <= 0) break;
            done += static_cast<size_t>(n);
        }
        bytes.resize(done);
    }
    close(fd);
    return bytes;
}

}  // namespace

void Instrumenter::instrument(const Context& context, CUfunction kernel, ContextFunction* function) {
    std::unique_lock lock(mutex_);
    std::vector<CUfunction> functions = nvbit_get_related_functions(context.handle(), kernel);
    functions.push_back(kernel);
    for (const CUfunction one : functions) {
        const auto [slot, is_new] = done_.try_emplace({&context, context.identity(one)});
        if (is_new) slot->second = instrument_one(context, one);
        const Catalog::Entry& entry = slot->second;
        if (one == kernel) function->id = entry.function;
        if (entry.sites == 0) continue;
        const uint32_t last = entry.first_site + entry.sites - 1;
        function->first_site = function->first_site ? std::min(function->first_site, entry.first_site) : entry.first_site;
        function->last_site = std::max(function->last_site, last);
    }
    function->instrumented = true;
}

Catalog::Entry Instrumenter::instrument_one(const Context& context, CUfunction function) {
    const CUcontext handle = context.handle();
    const std::vector<Instr*>& instrs = nvbit_get_instrs(handle, function);
    std::vector<Instruction> instructions;
    for (Instr* instr : instrs) instructions.push_back(describe(instr));
    const ProbePlan plan = plan_probes(instructions);

    FunctionDescription description;
    description.name = nvbit_get_func_name(handle, function, false);
    description.mangled = nvbit_get_func_name(handle, function, true);
    description.kernel = nvbit_is_func_kernel(handle, function);
    const LineTable* lines = lines_ && !plan.sites.empty() ? line_table(handle, function) : nullptr;
    description.has_lines = lines && lines->has_lines(description.mangled);
    for (const PlannedSite& planned : plan.sites) {
        const Instruction& instruction = instructions[planned.instruction];
        SiteDescription site{
            instruction.offset, instruction.sass, instruction.opcode, planned.opcode.operation, planned.opcode.width, planned.measured, {}};
        if (description.has_lines) site.lines = chain_of(*lines, description.mangled, instruction.offset);
        description.sites.push_back(site);
    }
    const Catalog::Entry entry = catalog_->add(description);

    for (const Probe& probe : plan.probes) {
        const PlannedSite& site = plan.sites[probe.site];
        const uint32_t word = pack_site(entry.first_site + static_cast<uint32_t>(probe.site), log2_of(site.opcode.width));
        inject(instrs[site.instruction], instructions[site.instruction].references[probe.reference], probe.reference, word,
               context.memory()->state());
    }
    return entry;
}

const LineTable* Instrumenter::line_table(CUcontext context, CUfunction function) {
    const std::string module = read_module(context, function);
    std::unique_ptr<LineTable>& table = tables_[std::hash<std::string_view>{}(module)];
    if (!table) {
        std::string why_not;
        std::optional<LineTable> parsed = LineTable::parse(module, &why_not);
        if (!parsed) {
            notify_("the source lines of a module could not be read: " + why_not);
            parsed = LineTable();
        }
        table = std::make_unique<LineTable>(std::move(*parsed));
    }
    return table.get();
}

}  // namespace snoopie
