#include "kernels.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/nvbit_end.h"
#include "launches/word_batch.h"
#include "memory.h"
#include "probe/probe_abi.h"
#include "test_data.h"

using namespace snoopie;

namespace {

// An instruction. `to`: the register of the address that it stores to; 0 if it does not.
struct Text {
    uint32_t offset = 0;
    const char* opcode = "";
    const char* sass = "";
    int to = 0;
};

constexpr Text kOneStore[] = {{0x40, "STG.E", "STG.E desc[UR4][R2.64], R5 ;", 2}};
// One register after the other's last use: two accesses that never share a call.
constexpr Text kToParameters[] = {
    {0x40, "LDC.64", "LDC.64 R2, c[0x0][0x210] ;"},
    {0x50, "STG.E", "STG.E desc[UR4][R2.64], R5 ;", 2},
    {0x60, "LDC.64", "LDC.64 R2, c[0x0][0x218] ;"},
    {0x70, "STG.E", "STG.E desc[UR4][R2.64], R5 ;", 2},
    {0x80, "EXIT", "EXIT ;"},
};

// An instruction, and the call that was injected before it.
struct Place {
    explicit Place(const Text& is) : text(&is), instr(reinterpret_cast<const char*>(&is)) {}
    const Text* text;
    Instr instr;
    bool injected = false;
    bool timed = false;  // by a probe that notes when
    bool in_place = false;
    uint32_t site_word = 0;
};

struct KernelCode {
    std::vector<std::unique_ptr<Place>> places;
    std::vector<Instr*> instrs;
    bool enabled = false;
    uint64_t state = 0;
    std::map<uint64_t, uint64_t> launches;  // by the nodes of graphs; 0: of launches
};

std::mutex mutex;

std::map<std::pair<CUcontext, CUfunction>, std::unique_ptr<KernelCode>>& codes() {
    static auto& all = *new std::map<std::pair<CUcontext, CUfunction>, std::unique_ptr<KernelCode>>;
    return all;
}

KernelCode& code_of(CUcontext context, CUfunction function) {
    std::unique_ptr<KernelCode>& code = codes()[{context, of_launch(function)}];
    if (code) return *code;
    code = std::make_unique<KernelCode>();
    const auto add = [&](const Text& text) {
        code->places.push_back(std::make_unique<Place>(text));
        code->instrs.push_back(&code->places.back()->instr);
    };
    if (of_launch(function) == kTwoStores)
        for (const Text& text : kToParameters) add(text);
    else
        for (const Text& text : kOneStore) add(text);
    return *code;
}

std::pair<KernelCode*, Place*> place_of(const Instr* instr) {
    for (const auto& [key, code] : codes())
        for (const auto& place : code->places)
            if (&place->instr == instr) return {code.get(), place.get()};
    std::abort();
}

uint64_t address_of(CUfunction function) { return reinterpret_cast<uint64_t>(of_launch(function)) << 8; }

const CUfunction kKeepWords = kernel(100);
const CUfunction kRestoreWords = kernel(101);

// Takes out the jumps to calls that are not live.
void restore_words(CUcontext context, const WordBatch& batch) {
    const std::lock_guard lock(mutex);
    for (const auto& place : code_of(context, reinterpret_cast<CUfunction>(batch.code >> 8)).places)
        for (uint32_t i = 0; i < batch.count; ++i)
            if (batch.offsets[i] == place->text->offset && !(batch.live[i / 32] >> i % 32 & 1)) place->in_place = false;
}

}  // namespace

int modules_read = 0;

void unload(CUmodule module) {
    const std::lock_guard lock(mutex);
    for (auto one = codes().begin(); one != codes().end();)
        one = module_of(one->first.second) == module ? codes().erase(one) : std::next(one);
}

void run_kernel(CUcontext context, CUfunction function, const std::vector<CUdeviceptr>& to, uint64_t warps, uint64_t node) {
    const std::lock_guard lock(mutex);
    const KernelCode& code = code_of(context, function);
    if (!code.enabled) return;
    const auto given = code.launches.find(node);
    const uint64_t value = given == code.launches.end() ? 0 : given->second;
    size_t stores = 0;
    for (const auto& place : code.places) {
        if (!place->text->to) continue;
        const CUdeviceptr address = to.at(stores++);
        if (!place->injected || !place->in_place) continue;
        auto* const state = reinterpret_cast<ProbeState*>(code.state);
        const uint64_t launch =
            is_launch_cell(value) ? *reinterpret_cast<const uint64_t*>(code.state + static_cast<uint32_t>(value)) : value;
        const uint32_t mark = launch_mark(launch);
        if (mark != state->mark) {
            if (is_launch(mark)) state->misdirected += 32 * warps;
            continue;
        }
        const auto* const bytes = reinterpret_cast<const uint8_t*>(code.state);
        const uint8_t page = bytes[sizeof(ProbeState) + (address >> kPageBits)];
        if (page == 0) continue;
        const uint32_t slots = launch_slots(launch, state->owners);
        const uint32_t slot = page - 1u < slots ? page - 1u : bytes[kOwnerBytes + page] - 1u;
        const uint32_t moments = place->timed ? time_cells(launch_slot(launch)) : 0;
        const auto counters = [&](uint32_t cell) {
            return state->counters + uint64_t{cell_of(launch, site_id(place->site_word), slots + moments, cell)} * kCounters;
        };
        // Its warps run on all multiprocessors.
        const uint32_t apart = place->timed ? 0 : bank_cells(launch_slot(launch));
        for (uint32_t bank = 0; bank < kBanks; ++bank) counters(slot + bank * apart)[kAccesses] += (warps + bank) / kBanks;
        static uint64_t clock = 1'000'000;
        for (uint64_t block = 0; place->timed && block < warps; ++block) {
            uint64_t* const own = counters(slots + time_cell_of(block, warps, moments));
            own[kFirstTime] = std::max(own[kFirstTime], ~++clock);
            own[kLastTime] = std::max<uint64_t>(own[kLastTime], clock);
            ++own[kTimedAccesses];
        }
    }
}

void forget_node(CUcontext context, CUfunction function, uint64_t node) {
    const std::lock_guard lock(mutex);
    code_of(context, function).launches.erase(node);
}

// --- A kernel's instructions ---

Instr::Instr(const char* text) : reserved(text) {}
const char* Instr::getSass() { return static_cast<const Text*>(reserved)->sass; }
uint32_t Instr::getOffset() { return static_cast<const Text*>(reserved)->offset; }
const char* Instr::getOpcode() { return static_cast<const Text*>(reserved)->opcode; }
InstrType::MemorySpace Instr::getMemorySpace() { return InstrType::MemorySpace::GLOBAL; }
int Instr::getNumOperands() { return static_cast<const Text*>(reserved)->to ? 1 : 0; }
const InstrType::operand_t* Instr::getOperand(int) {
    static auto& operands = *new std::map<int, InstrType::operand_t>;
    const std::lock_guard lock(mutex);
    const int number = static_cast<const Text*>(reserved)->to;
    InstrType::operand_t& operand = operands[number];
    operand.type = InstrType::OperandType::MREF;
    operand.u.mref.has_ra = true;
    operand.u.mref.ra_num = number;
    operand.u.mref.ra_mod = InstrType::RegModifierType::U64;
    return &operand;
}

void nvbit_may_end(const char* where) {
    static std::atomic<int> times{0};
    static const std::string chosen = [] {
        const char* const given = std::getenv("NVBIT_ENDS");  // PLACE:TIME
        return std::string(given ? given : "");
    }();
    const size_t colon = chosen.find(':');
    if (colon != std::string::npos && chosen.substr(0, colon) == where && ++times == std::atoi(chosen.c_str() + colon + 1)) end_nvbit();
}

extern "C" CUresult __wrap_cuGetExportTable(const void** table, const CUuuid* id);

bool nvbit_starts() {
    constexpr CUuuid tools{{0x2c, static_cast<char>(0x8e), 0x0a, static_cast<char>(0xd8), 0x07, 0x10, static_cast<char>(0xab), 0x4e,
                            static_cast<char>(0x90), static_cast<char>(0xdd), 0x54, 0x71, static_cast<char>(0x9f), static_cast<char>(0xe5),
                            static_cast<char>(0xf7), 0x4b}};
    const void* table = nullptr;
    if (__wrap_cuGetExportTable(&table, &tools) != CUDA_SUCCESS) _Exit(1);
    const auto* const words = static_cast<void* const*>(table);
    uint32_t subscriber = 0;
    bool right = reinterpret_cast<CUresult (*)(uint32_t*, void*, void*)>(words[3])(&subscriber, nullptr, nullptr) == CUDA_SUCCESS;
    for (const uint32_t domain : {3, 2, 6, 19})
        right = right && reinterpret_cast<CUresult (*)(uint32_t, uint32_t, uint32_t)>(words[7])(1, subscriber, domain) == CUDA_SUCCESS;
    if (!right) _Exit(1);
    return std::getenv("ANOTHER_TOOL") == nullptr;
}

// Called by the collector, one of NVBit's functions may end it.
static void may_end_in(const char* function) {
    from_nvbit([function] { nvbit_may_end(function); });
}

// --- NVBit's functions, as far as the collector calls them ---

// Slow, so that kernels have the values of cells; and where those fail, their own.
std::vector<CUfunction> nvbit_get_related_functions(CUcontext, CUfunction function) {
    may_end_in("nvbit_get_related_functions");

    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::vector<CUfunction> called;
    for (int i = 0; function == kByTable && i < kInTable; ++i) called.push_back(kernel(kFirstInTable + i));
    return called;
}
std::vector<int> nvbit_get_kernel_argument_sizes(CUcontext, CUfunction function) { return {function == kByTable ? 48 : 8}; }

extern "C" {

// The driver's table for tools. It may have one already.
static CUresult subscribe(void*, void*, void*) {
    return std::getenv("ANOTHER_TOOL") ? static_cast<CUresult>(210) : CUDA_SUCCESS;  // CUDA_ERROR_ALREADY_ACQUIRED
}
static CUresult enable(uint32_t, uint32_t, uint32_t) { return std::getenv("ANOTHER_TOOL") ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }

CUresult __real_cuGetExportTable(const void** table, const CUuuid*) {
    static const void* all[8] = {
        reinterpret_cast<void*>(sizeof all), nullptr, nullptr, reinterpret_cast<void*>(subscribe), nullptr, nullptr, nullptr,
        reinterpret_cast<void*>(enable)};
    *table = all;
    return CUDA_SUCCESS;
}

int nvbit_load_tool_module(CUcontext, const void*, CUmodule* module) {
    may_end_in("nvbit_load_tool_module");

    *module = reinterpret_cast<CUmodule>(0x9f8);
    return fault_in("nvbit_load_tool_module");
}
int nvbit_find_function_by_name(CUcontext, CUmodule, const char* name, CUfunction* function) {
    *function = std::strcmp(name, "snoopie_keep_words") == 0 ? kKeepWords : kRestoreWords;
    return fault_in("nvbit_find_function_by_name");
}
int nvbit_launch_kernel(CUcontext context, CUfunction function, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                        CUstream, void** arguments, void**) {
    may_end_in("nvbit_launch_kernel");

    if (const int error = fault_in("nvbit_launch_kernel")) return error;
    if (function == kRestoreWords) restore_words(context, *static_cast<const WordBatch*>(arguments[0]));
    return 0;
}

const std::vector<Instr*>& nvbit_get_instrs(CUcontext context, CUfunction function) {
    may_end_in("nvbit_get_instrs");

    const std::lock_guard lock(mutex);
    return code_of(context, function).instrs;
}
const char* nvbit_get_func_name(CUcontext, CUfunction function, bool mangled) {
    may_end_in("nvbit_get_func_name");

    const CUfunction known = of_launch(function);
    if (known == kTwoStores) return mangled ? "_Z4ringPfPKfi" : "ring(float*, float const*, int)";
    if (known == kByTable) return "ncclDevKernel(ncclDevKernelArgsStorage<48ul>)";
    return known == kernel(0) ? "store" : known == kernel(1) ? "in_graph" : "other";
}
bool nvbit_dump_cubin(CUcontext, CUfunction function, const char* path) {
    may_end_in("nvbit_dump_cubin");

    ++modules_read;
    if (of_launch(function) == kTwoStores) std::ofstream(path, std::ios::binary) << test::read("inline.sm_90.cubin");
    return false;
}
uint32_t nvbit_get_sm_family(CUcontext) { return 90; }
uint64_t nvbit_get_func_addr(CUcontext, CUfunction function) { return address_of(function); }
bool nvbit_is_func_kernel(CUcontext, CUfunction function) { return function < kernel(kFirstInTable); }
void nvbit_get_func_config(CUcontext, CUfunction, func_config_t* config) {
    *config = {};
    config->gridDimX = config->gridDimY = config->gridDimZ = 1;
    config->blockDimX = 32;
    config->blockDimY = config->blockDimZ = 1;
}

void nvbit_insert_call(const Instr* instr, const char* probe, ipoint_t) {
    may_end_in("nvbit_insert_call");

    const std::lock_guard lock(mutex);
    Place& place = *place_of(instr).second;
    place.injected = true;
    place.timed = std::strncmp(probe, "snoopie_time_", 13) == 0;
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
    place_of(instr).second->site_word = value;
}
void nvbit_add_call_arg_const_val64(const Instr* instr, uint64_t value, bool) {
    const std::lock_guard lock(mutex);
    place_of(instr).first->state = value;
}

void nvbit_enable_instrumented(CUcontext context, CUfunction function, bool on, bool) {
    may_end_in("nvbit_enable_instrumented");

    const std::lock_guard lock(mutex);
    KernelCode& code = code_of(context, function);
    // Only a change writes code.
    if (on && !code.enabled)
        for (const auto& place : code.places) place->in_place = true;
    code.enabled = on;
}
// The GPU goes on with the value that it has of a graph's node, whatever is given to a later launch of the graph.
void nvbit_set_at_launch(CUcontext context, CUfunction function, uint64_t value, CUstream, uint64_t node) {
    may_end_in("nvbit_set_at_launch");

    const std::lock_guard lock(mutex);
    KernelCode& code = code_of(context, function);
    if (node)
        code.launches.try_emplace(node, value);
    else
        code.launches[0] = value;
}
void nvbit_set_tool_pthread(pthread_t) { thread_is_the_collectors = true; }
void nvbit_unset_tool_pthread(pthread_t) {}
}
