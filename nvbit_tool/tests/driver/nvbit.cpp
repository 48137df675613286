#include "kernels.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "probe/probe_abi.h"

using namespace snoopie;

namespace {

struct KernelCode {
    Instr store{"STG.E desc[UR4][R2.64], R5 ;"};
    std::vector<Instr*> instrs{&store};
    bool injected = false;
    bool timed = false;  // by a probe that notes when
    bool enabled = false;
    uint32_t site_word = 0;
    uint64_t state = 0;
    uint64_t launch = 0;
    bool of_node = false;
};

std::mutex mutex;

std::map<std::pair<CUcontext, CUfunction>, std::unique_ptr<KernelCode>>& codes() {
    static auto& all = *new std::map<std::pair<CUcontext, CUfunction>, std::unique_ptr<KernelCode>>;
    return all;
}

KernelCode& code_of(CUcontext context, CUfunction function) {
    std::unique_ptr<KernelCode>& code = codes()[{context, of_launch(function)}];
    if (!code) code = std::make_unique<KernelCode>();
    return *code;
}

KernelCode& code_with(const Instr* instr) {
    for (const auto& [key, code] : codes())
        if (&code->store == instr) return *code;
    std::abort();
}

}  // namespace

void run_kernel(CUcontext context, CUfunction function, CUdeviceptr to, uint64_t warps) {
    const std::lock_guard lock(mutex);
    const KernelCode& code = code_of(context, function);
    if (!code.enabled || !code.injected) return;
    auto* const state = reinterpret_cast<ProbeState*>(code.state);
    const uint64_t launch =
        is_launch_cell(code.launch) ? *reinterpret_cast<const uint64_t*>(code.state + static_cast<uint32_t>(code.launch)) : code.launch;
    const uint32_t mark = launch_mark(launch);
    if (mark != state->mark) {
        if (is_launch(mark)) state->misdirected += 32 * warps;
        return;
    }
    const auto* const bytes = reinterpret_cast<const uint8_t*>(code.state);
    const uint8_t page = bytes[sizeof(ProbeState) + (to >> kPageBits)];
    if (page == 0) return;
    const uint32_t slots = launch_slots(launch, state->owners);
    const uint32_t slot = page - 1u < slots ? page - 1u : bytes[kOwnerBytes + page] - 1u;
    const uint32_t moments = code.timed ? time_cells(launch_slot(launch)) : 0;
    const auto counters = [&](uint32_t cell) {
        return state->counters + uint64_t{cell_of(launch, site_id(code.site_word), slots + moments, cell)} * kCounters;
    };
    counters(slot)[kAccesses] += warps;
    static uint64_t clock = 1'000'000;
    for (uint64_t block = 0; code.timed && block < warps; ++block) {
        uint64_t* const own = counters(slots + time_cell_of(block, warps, moments));
        own[kFirstTime] = std::max(own[kFirstTime], ~++clock);
        own[kLastTime] = std::max<uint64_t>(own[kLastTime], clock);
        ++own[kTimedAccesses];
    }
}

// --- The kernel's instruction ---

Instr::Instr(const char* sass) : reserved(sass) {}
const char* Instr::getSass() { return static_cast<const char*>(reserved); }
uint32_t Instr::getOffset() { return 0x40; }
const char* Instr::getOpcode() { return "STG.E"; }
InstrType::MemorySpace Instr::getMemorySpace() { return InstrType::MemorySpace::GLOBAL; }
int Instr::getNumOperands() { return 1; }
const InstrType::operand_t* Instr::getOperand(int) {
    static const InstrType::operand_t& operand = *[] {
        auto* const made = new InstrType::operand_t{};
        made->type = InstrType::OperandType::MREF;
        made->u.mref.has_ra = true;
        made->u.mref.ra_num = 2;
        made->u.mref.ra_mod = InstrType::RegModifierType::U64;
        return made;
    }();
    return &operand;
}

// --- NVBit's functions, as far as the collector calls them ---

// Slow, so that kernels have the values of cells; and where those fail, their own.
std::vector<CUfunction> nvbit_get_related_functions(CUcontext, CUfunction) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
}
std::vector<int> nvbit_get_kernel_argument_sizes(CUcontext, CUfunction) { return {8}; }

extern "C" {

// This one hears of calls without the driver's tables.
CUresult __real_cuGetExportTable(const void**, const CUuuid*) { return CUDA_ERROR_NOT_FOUND; }

int nvbit_load_tool_module(CUcontext, const void*, CUmodule* module) {
    *module = reinterpret_cast<CUmodule>(0x908);
    return fault_in("nvbit_load_tool_module");
}
int nvbit_find_function_by_name(CUcontext, CUmodule, const char*, CUfunction* function) {
    *function = kernel(100);
    return fault_in("nvbit_find_function_by_name");
}
int nvbit_launch_kernel(CUcontext, CUfunction, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, CUstream, void**,
                        void**) {
    return fault_in("nvbit_launch_kernel");
}

const std::vector<Instr*>& nvbit_get_instrs(CUcontext context, CUfunction function) {
    const std::lock_guard lock(mutex);
    return code_of(context, function).instrs;
}
const char* nvbit_get_func_name(CUcontext, CUfunction function, bool) {
    const CUfunction known = of_launch(function);
    return known == kernel(0) ? "store" : known == kernel(1) ? "in_graph" : "other";
}
bool nvbit_dump_cubin(CUcontext, CUfunction, const char*) { return false; }
uint32_t nvbit_get_sm_family(CUcontext) { return 90; }
uint64_t nvbit_get_func_addr(CUcontext, CUfunction function) { return reinterpret_cast<uint64_t>(of_launch(function)) << 8; }
bool nvbit_is_func_kernel(CUcontext, CUfunction) { return true; }
void nvbit_get_func_config(CUcontext, CUfunction, func_config_t* config) {
    *config = {};
    config->gridDimX = config->gridDimY = config->gridDimZ = 1;
    config->blockDimX = 32;
    config->blockDimY = config->blockDimZ = 1;
}

void nvbit_insert_call(const Instr* instr, const char* probe, ipoint_t) {
    const std::lock_guard lock(mutex);
    code_with(instr).injected = true;
    code_with(instr).timed = std::strncmp(probe, "snoopie_time_", 13) == 0;
}
void nvbit_add_call_arg_guard_pred_val(const Instr*, bool) {}
void nvbit_add_call_arg_pred_val_at(const Instr*, int, bool) {}
void nvbit_add_call_arg_upred_val_at(const Instr*, int, bool) {}
void nvbit_add_call_arg_reg_val(const Instr*, int, bool) {}
void nvbit_add_call_arg_ureg_val(const Instr*, int, bool) {}
void nvbit_add_call_arg_launch_val64(const Instr*, int, bool) {}
void nvbit_add_call_arg_mref_addr64(const Instr*, int, bool) {}
// The site comes last.
void nvbit_add_call_arg_const_val32(const Instr* instr, uint32_t value, bool) {
    const std::lock_guard lock(mutex);
    code_with(instr).site_word = value;
}
void nvbit_add_call_arg_const_val64(const Instr* instr, uint64_t value, bool) {
    const std::lock_guard lock(mutex);
    code_with(instr).state = value;
}

void nvbit_enable_instrumented(CUcontext context, CUfunction function, bool on, bool) {
    const std::lock_guard lock(mutex);
    code_of(context, function).enabled = on;
}
// The GPU goes on with the value that it has of a graph's node, whatever is given to a later launch of the graph.
void nvbit_set_at_launch(CUcontext context, CUfunction function, uint64_t value, CUstream, uint64_t node) {
    const std::lock_guard lock(mutex);
    KernelCode& code = code_of(context, function);
    if (node && std::exchange(code.of_node, true)) return;
    code.launch = value;
}
void nvbit_set_tool_pthread(pthread_t) {}
void nvbit_unset_tool_pthread(pthread_t) {}
}
