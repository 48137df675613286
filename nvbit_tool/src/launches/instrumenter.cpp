#include "launches/instrumenter.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/signals.h"
#include "code/branch_targets.h"
#include "code/code_ahead.h"
#include "code/disassembler.h"
#include "code/nccl_kernels.h"
#include "code/pack_words.h"
#include "code/polling.h"
#include "code/recursion.h"
#include "launches/live_calls.h"
#include "nvbit.h"
#include "probe/tensor_map.h"
#include "settings/kernel_filter.h"
#include "trace/site_word.h"

namespace snoopie {

namespace {

// What all calls injected into a function have in common.
struct Injection {
    std::string kind;       // of probes
    std::string copy_kind;  // of those of bulk and tensor copies, and of what is only counted
    uint32_t first_site = 0;
    uint64_t state = 0;
};

void inject(Instr* instr, const Probe& probe, const std::vector<MemoryReference>& references, uint32_t site_word,
            const Injection& injection) {
    const auto begin = [&](const std::string& function) {
        nvbit_insert_call(instr, function.c_str(), IPOINT_BEFORE);
        nvbit_add_call_arg_guard_pred_val(instr);
    };
    const MemoryReference* reference = references.empty() ? nullptr : &references[probe.reference];
    switch (probe.kind) {
        case Probe::Kind::registers:
            begin(injection.kind + "registers");
            nvbit_add_call_arg_reg_val(instr, reference->reg);
            nvbit_add_call_arg_reg_val(instr, reference->reg + 1);
            nvbit_add_call_arg_const_val32(instr, static_cast<uint32_t>(reference->immediate));
            break;
        case Probe::Kind::source:
            begin(injection.kind + (reference->register_pair ? "source" : "source_address"));
            if (probe.predicate.number == PredicateOperand::kAlways)
                nvbit_add_call_arg_const_val32(instr, 1);
            else
                nvbit_add_call_arg_pred_val_at(instr, probe.predicate.number);
            nvbit_add_call_arg_const_val32(instr, probe.predicate.negated);
            if (reference->register_pair) {
                nvbit_add_call_arg_reg_val(instr, reference->reg);
                nvbit_add_call_arg_reg_val(instr, reference->reg + 1);
                nvbit_add_call_arg_const_val32(instr, static_cast<uint32_t>(reference->immediate));
            } else {
                nvbit_add_call_arg_mref_addr64(instr, static_cast<int>(probe.reference));
            }
            break;
        case Probe::Kind::address:
            begin(injection.kind + "address");
            nvbit_add_call_arg_mref_addr64(instr, static_cast<int>(probe.reference));
            break;
        case Probe::Kind::bulk:
            begin(injection.copy_kind + "bulk");
            nvbit_add_call_arg_ureg_val(instr, reference->reg);
            nvbit_add_call_arg_ureg_val(instr, reference->reg + 1);
            nvbit_add_call_arg_ureg_val(instr, probe.size_register);
            break;
        case Probe::Kind::tensor:
            begin(injection.copy_kind + "tensor");
            nvbit_add_call_arg_ureg_val(instr, reference->reg);
            nvbit_add_call_arg_ureg_val(instr, reference->reg + 1);
            for (int k = 0; k < static_cast<int>(kMaxRank); ++k) {
                if (k < probe.rank)
                    nvbit_add_call_arg_ureg_val(instr, probe.first_coordinate + k);
                else
                    nvbit_add_call_arg_const_val32(instr, 0);
            }
            break;
        case Probe::Kind::executed:
            begin(injection.copy_kind + "executed");
            break;
    }
    nvbit_add_call_arg_const_val32(instr, site_word);
    nvbit_add_call_arg_const_val64(instr, injection.state);
    nvbit_add_call_arg_launch_val64(instr, 0);
}

// `pack`: where its description is.
void inject_pack(Instr* instr, const PlannedCall& call, const PackWords& words, uint32_t pack, const Injection& injection) {
    nvbit_insert_call(instr, (injection.kind + "pack" + std::to_string(words.pairs.size())).c_str(), IPOINT_BEFORE);
    if (call.guard == SassLine::kAlways)
        nvbit_add_call_arg_const_val32(instr, 1);
    else
        nvbit_add_call_arg_pred_val_at(instr, call.guard);
    nvbit_add_call_arg_const_val32(instr, pack_word(pack, words.margin));
    nvbit_add_call_arg_const_val64(instr, injection.state);
    for (const int pair : words.pairs) {
        nvbit_add_call_arg_reg_val(instr, pair);
        nvbit_add_call_arg_reg_val(instr, pair + 1);
    }
    nvbit_add_call_arg_launch_val64(instr, 0);
}

// The load of a poll, and the branch that leaves its loop.
void inject_wait(Instr* load, size_t reference, uint32_t site, const Injection& injection) {
    nvbit_insert_call(load, "snoopie_wait_address", IPOINT_BEFORE);
    nvbit_add_call_arg_guard_pred_val(load);
    nvbit_add_call_arg_mref_addr64(load, static_cast<int>(reference));
    nvbit_add_call_arg_const_val32(load, site);
    nvbit_add_call_arg_const_val64(load, injection.state);
    nvbit_add_call_arg_launch_val64(load, 0);
}

void inject_exit(Instr* branch, const std::optional<BranchPredicate>& predicate, const Poll::Exit& exit, uint32_t site,
                 const Injection& injection) {
    nvbit_insert_call(branch, "snoopie_wait_exit", IPOINT_BEFORE);
    nvbit_add_call_arg_guard_pred_val(branch);
    if (!predicate)
        nvbit_add_call_arg_const_val32(branch, 1);
    else if (predicate->uniform)
        nvbit_add_call_arg_upred_val_at(branch, predicate->number);
    else
        nvbit_add_call_arg_pred_val_at(branch, predicate->number);
    nvbit_add_call_arg_const_val32(branch,
                                   (exit.branch_stays ? kBranchStays : 0) | (predicate && predicate->negated ? kPredicateNegated : 0));
    nvbit_add_call_arg_const_val32(branch, site);
    nvbit_add_call_arg_const_val64(branch, injection.state);
    nvbit_add_call_arg_launch_val64(branch, 0);
}

// What NVBit writes about the function's module: its cubin.
MappedFile read_module(CUcontext context, CUfunction function) {
    const Descriptor file(memfd_create("snoopie-cubin", MFD_CLOEXEC));
    if (!file) return {};
    const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    nvbit_dump_cubin(context, function, path.c_str());  // its result is false even when the file is complete
    return MappedFile(file.get());
}

// The words of the parameters that these refer to; none if they can be any.
std::optional<std::vector<uint16_t>> words_of(const std::vector<Roots>& roots, const LaunchPaths& paths) {
    const std::vector<uint16_t> deciding = paths.words();
    std::set<uint16_t> words(deciding.begin(), deciding.end());
    for (const Roots& one : roots) {
        if (one.any != Roots::Any::none) return std::nullopt;
        words.insert(one.pointers.begin(), one.pointers.end());
        for (const uint16_t half : one.numbers) words.insert(half / 2);
        for (const Roots::Multiple& multiple : one.multiples)
            for (const uint32_t half : {multiple.word, multiple.factor}) words.insert(static_cast<uint16_t>(half / 2));
    }
    return std::vector<uint16_t>(words.begin(), words.end());
}

JumpGuard jump_guard(const PlannedCall& call) {
    return call.guard_common ? static_cast<JumpGuard>(call.guard | (call.guard_negated ? 8 : 0)) : kUnguarded;
}

// All but the calls.
std::shared_ptr<FunctionAddresses> addresses_of(const FunctionReading& reading, const Catalog::Entry& entry) {
    const ProbePlan& plan = reading.plan;
    const std::vector<Roots>& roots = reading.roots;
    auto addresses = std::make_shared<FunctionAddresses>();
    addresses->parameters = reading.parameters;
    addresses->paths = reading.paths;
    for (size_t i = 0; i < plan.probes.size(); ++i) {
        if (roots[i].unknown_always()) continue;
        const size_t site = plan.probes[i].site;
        const auto same = std::find(addresses->roots.begin(), addresses->roots.end(), roots[i]);
        addresses->sites.push_back({entry.first_site + static_cast<uint32_t>(site), static_cast<size_t>(same - addresses->roots.begin()),
                                    reading.instructions[plan.sites[site].instruction].sass});
        if (same == addresses->roots.end()) addresses->roots.push_back(roots[i]);
    }
    addresses->all_known = addresses->sites.size() == entry.sites;
    addresses->words = words_of(addresses->roots, addresses->paths);
    if (addresses->paths.may_leave_unread()) addresses->deciding = addresses->paths.words();
    return addresses;
}

// The first argument of a kernel that has only one.
ParameterBuffer only_argument(const Context& context, const LaunchCall& call) {
    if (call.parameters) {
        const std::vector<int> sizes = nvbit_get_kernel_argument_sizes(context.handle(), call.function);
        if (sizes.size() == 1 && sizes[0] > 0) return {call.parameters[0], static_cast<size_t>(sizes[0])};
    }
    return parameter_buffer(call.extra);
}

}  // namespace

bool Instrumenter::prepare(const Context& context, const LaunchCall& call, ContextFunction* function) {
    // The node of a graph has no arguments to look at: what it calls was instrumented when it came into the graph.
    const bool has_arguments = call.parameters || call.extra;
    if (function->instrumented && !(function->by_table && has_arguments)) return false;
    // Modules and code are files on their way to what reads them, NVBit's own too.
    const NoFileSizeSignal no_signal;
    std::unique_lock lock(mutex_);
    const std::unique_ptr<Instrumenter, void (*)(Instrumenter*)> at_end(this, [](Instrumenter* self) { self->last_read_ = {}; });
    if (module_of(context.handle(), call.function).recursive.count(nvbit_get_func_name(context.handle(), call.function, true))) {
        notify_("kernel " + without_arguments(function->name) +
                " is not measured: it calls a recursive function that is linked separately, which NVBit does not support");
        function->instrumented = function->unmeasurable = true;
        return false;
    }
    const std::vector<CUfunction> functions = reachable(context, call, function);
    disassemble_new(context.handle(), functions);
    bool new_code = false;
    for (const CUfunction one : functions) {
        const auto [slot, is_new] = done_.try_emplace({&context, context.identity(one)});
        if (is_new) {
            slot->second = instrument_one(context, one);
            new_code |= slot->second.entry.sites > 0;
        }
        const Catalog::Entry& entry = slot->second.entry;
        if (one == call.function) {
            function->id = entry.function;
            function->addresses = slot->second.addresses;
        }
        if (entry.sites == 0) continue;
        if (one != call.function) function->shares_code = true;
        const uint32_t last = entry.first_site + entry.sites - 1;
        function->first_site = function->first_site ? std::min(function->first_site, entry.first_site) : entry.first_site;
        function->last_site = std::max(function->last_site, last);
    }
    function->instrumented = true;
    return new_code;
}

void Instrumenter::forget_handles() {
    const std::unique_lock lock(mutex_);
    modules_.clear();
    modules_of_functions_.clear();
    call_tables_.clear();
    const std::unique_lock of_kernels(kernels_mutex_);
    kernels_.clear();
}

void Instrumenter::is_function_of(CUfunction function, CUkernel kernel) {
    const std::unique_lock lock(kernels_mutex_);
    kernels_[function] = kernel;
}

CUfunction Instrumenter::kernel_of(CUfunction function) {
    const std::unique_lock lock(kernels_mutex_);
    const auto known = kernels_.find(function);
    return known == kernels_.end() ? function : reinterpret_cast<CUfunction>(known->second);
}

void Instrumenter::forget(const Context& context, const std::vector<uint64_t>& identities) {
    const std::unique_lock lock(mutex_);
    for (const uint64_t identity : identities) done_.erase({&context, identity});
}

// NVBit disassembles one function after another.
void Instrumenter::disassemble_new(CUcontext context, const std::vector<CUfunction>& functions) {
    constexpr size_t kWorthwhile = 3;  // reading the module takes about as long as disassembling one function
    if (named_disassembler().empty() || functions.empty()) return;
    const ModuleReading* const module = &module_of(context, functions.front());
    std::vector<std::string> names;
    for (const CUfunction one : functions) {
        std::string name = nvbit_get_func_name(context, one, true);
        if (disassembled_.insert({module, name}).second) names.push_back(std::move(name));
    }
    if (names.size() < kWorthwhile) return;
    if (last_read_.module != module) last_read_ = {module, read_module(context, functions.front())};
    disassemble_ahead(named_disassembler(), last_read_.code.bytes(), names, "SM" + std::to_string(nvbit_get_sm_family(context)));
}

// Those that need a look for this launch: none for one whose functions are all known.
std::vector<CUfunction> Instrumenter::reachable(const Context& context, const LaunchCall& call, ContextFunction* function) {
    std::set<uint32_t> wanted;
    const CallTable* table = nullptr;
    if (has_nccl_work(nvbit_get_func_name(context.handle(), call.function, false))) {
        table = call_table(context, call.function);
        const ParameterBuffer argument = only_argument(context, call);
        const auto places = table ? nccl_functions(argument.data, argument.bytes, call.grid[0], table->size()) : std::nullopt;
        if (places) {
            function->by_table = true;
            std::set_difference(places->begin(), places->end(), function->table_places.begin(), function->table_places.end(),
                                std::inserter(wanted, wanted.end()));
            if (function->instrumented && wanted.empty()) return {};
            function->table_places.insert(wanted.begin(), wanted.end());
        } else {
            notify_(
                "the arguments of an NCCL kernel have an unknown layout: every function that it could call is instrumented, which takes "
                "minutes");
            table = nullptr;
        }
    }
    if (function->instrumented && !table) return {};
    std::set<uint64_t> left_out;
    if (table) {
        left_out.insert(table->begin(), table->end());
        for (const uint32_t place : wanted) left_out.erase((*table)[place]);
    }
    std::vector<CUfunction> functions{call.function};
    // NVBit goes through all of them again whenever a launch gets its value: for 46 ms in a CUTLASS kernel of cuBLAS, 1.2 in NCCL's.
    constexpr auto kSlow = std::chrono::microseconds(50);
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<CUfunction> related = nvbit_get_related_functions(context.handle(), call.function);
    function->slow_values = std::chrono::steady_clock::now() - begin > kSlow;
    // Other kernels of the module are among them, which no kernel calls: two hundred where one of them is CUTLASS's. What a kernel
    // launches itself is not measured.
    for (const CUfunction one : related)
        if (!nvbit_is_func_kernel(context.handle(), one) && left_out.count(context.identity(one)) == 0) functions.push_back(one);
    return functions;
}

const Instrumenter::CallTable* Instrumenter::call_table(const Context& context, CUfunction kernel) {
    CUmodule module = nullptr;
    if (!succeeded(cuFuncGetModule(&module, kernel))) return nullptr;
    std::unique_ptr<CallTable>& table = call_tables_[{&context, module}];
    if (!table) {
        table = std::make_unique<CallTable>();
        CUdeviceptr address = 0;
        size_t bytes = 0;
        if (cuModuleGetGlobal_v2(&address, &bytes, module, kNcclTable) == CUDA_SUCCESS) {
            table->resize(bytes / sizeof(uint64_t));
            if (!context.memory()->read(address, table->data(), table->size() * sizeof(uint64_t))) table->clear();
        }
    }
    return table->empty() ? nullptr : table.get();
}

Instrumenter::Done Instrumenter::instrument_one(const Context& context, CUfunction function) {
    const std::vector<Instr*>& instrs = nvbit_get_instrs(context.handle(), function);
    const FunctionReading& reading = reading_of(context.handle(), function, instrs);
    const ProbePlan& plan = reading.plan;
    const std::vector<Instruction>& instructions = reading.instructions;
    const Catalog::Entry entry = catalog_->add(reading.description);

    const Injection injection{probes_, copy_probes_, entry.first_site, context.memory()->state()};
    std::map<uint32_t, FunctionAddresses::Call> noted;  // by the offset of the instruction
    const auto note_call = [&](uint32_t offset, size_t site, JumpGuard guard) {
        const auto [at, is_new] = noted.try_emplace(offset, FunctionAddresses::Call{offset, {}, guard, false});
        if (!is_new && at->second.guard != guard) at->second.guard = kUnguarded;
        at->second.sites.push_back(entry.first_site + static_cast<uint32_t>(site));
    };
    for (size_t i = 0; i < reading.launch_calls.size(); ++i) {
        const size_t site = plan.sites.size() + i;
        const size_t at = reading.launch_calls[i];
        inject(instrs[at], Probe(), {}, site_word(entry.first_site + static_cast<uint32_t>(site), Operation::load, 0), injection);
        note_call(instructions[at].offset, site, kUnguarded);
    }
    const auto inject_one = [&](size_t i, JumpGuard guard) {
        const Probe& probe = plan.probes[i];
        const PlannedSite& site = plan.sites[probe.site];
        const uint32_t word = site_word(entry.first_site + static_cast<uint32_t>(probe.site), site.opcode.operation, site.opcode.width);
        inject(instrs[site.instruction], probe, instructions[site.instruction].references, word, injection);
        note_call(instructions[site.instruction].offset, probe.site, guard);
    };
    for (const PlannedCall& call : plan.calls) {
        std::optional<uint32_t> pack;
        PackWords words;
        if (call.probes.size() > 1) {
            words = pack_words(call, plan, instructions, entry.first_site);
            pack = context.memory()->add_pack(words.description);
        }
        if (pack) {
            inject_pack(instrs[call.instruction], call, words, *pack, injection);
            for (const size_t i : call.probes) note_call(instructions[call.instruction].offset, plan.probes[i].site, jump_guard(call));
        } else {
            for (const size_t i : call.probes) inject_one(i, call.probes.size() == 1 ? jump_guard(call) : kUnguarded);
        }
    }
    for (const Poll& poll : waits_ ? reading.polls : std::vector<Poll>()) {
        const auto site_of = [&](size_t instruction) {
            return std::find_if(plan.sites.begin(), plan.sites.end(),
                                [&](const PlannedSite& site) { return site.instruction == instruction; });
        };
        const auto first = site_of(poll.loads.front());
        if (first == plan.sites.end()) continue;
        const auto site = static_cast<size_t>(first - plan.sites.begin());
        const uint32_t id = entry.first_site + static_cast<uint32_t>(site);
        // In every launch's code: waits are for memory of the GPU's own, too.
        const auto note_always = [&](size_t instruction) {
            note_call(instructions[instruction].offset, site, kUnguarded);
            noted.at(instructions[instruction].offset).always = true;
        };
        for (const size_t load : poll.loads) {
            const auto own = site_of(load);
            if (own == plan.sites.end() || instructions[load].references.empty()) continue;
            inject_wait(instrs[load], own->opcode.reference, id, injection);
            note_always(load);
        }
        for (const Poll::Exit& exit : poll.exits) {
            inject_exit(instrs[exit.instruction], reading.exit_predicates.at(exit.instruction), exit, id, injection);
            note_always(exit.instruction);
        }
    }
    if (!reading.parameters) return {entry, nullptr};
    const auto addresses = addresses_of(reading, entry);
    for (auto& [offset, call] : noted) addresses->calls.push_back(std::move(call));
    return {entry, addresses};
}

const FunctionReading& Instrumenter::reading_of(CUcontext context, CUfunction function, const std::vector<Instr*>& instrs) {
    FunctionReader::Names names{nvbit_get_func_name(context, function, false), nvbit_get_func_name(context, function, true),
                                nvbit_is_func_kernel(context, function)};
    const ModuleReading& module = module_of(context, function);
    std::unique_ptr<FunctionReading>& reading = readings_[{&module, names.mangled, tensor_maps_}];
    if (!reading) reading = std::make_unique<FunctionReading>(reader_.read(names, module, instrs, tensor_maps_));
    return *reading;
}

const ModuleReading& Instrumenter::module_of(CUcontext context, CUfunction function) {
    // A module can be 100 MB: it is read once.
    const int family = nvbit_get_sm_family(context);
    const ModuleReading*& of_function = modules_of_functions_[{family, function}];
    if (of_function) return *of_function;
    CUmodule handle = nullptr;
    cuFuncGetModule(&handle, function);
    const ModuleReading*& known = modules_[{context, handle}];
    if (known && handle) return *(of_function = known);
    const ModuleReading*& of_kernel = modules_of_functions_[{family, kernel_of(function)}];
    if (of_kernel) return *(known = of_function = of_kernel);
    MappedFile file = read_module(context, function);
    const std::string_view code = file.bytes();
    std::unique_ptr<ModuleReading>& module = modules_by_code_[std::hash<std::string_view>{}(code)];
    if (!module) {
        module = std::make_unique<ModuleReading>();
        std::string why_not;
        if (const auto cubin = Cubin::parse(code, &why_not)) {
            module->launches = DeviceLaunches::find(*cubin);
            module->recursive = recursive_functions(*cubin);
            module->parameters = parameters_of(*cubin);
            module->branch_targets = branch_targets_of(*cubin);
        }
        std::optional<LineTable> lines = lines_ ? LineTable::parse(code, &why_not) : LineTable();
        if (!lines) notify_("the source lines of a module could not be read: " + why_not);
        if (lines) module->lines = std::move(*lines);
    }
    known = of_function = of_kernel = module.get();
    last_read_ = {known, std::move(file)};
    return *known;
}

}  // namespace snoopie
