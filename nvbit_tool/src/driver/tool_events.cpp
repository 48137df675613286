// NVBit has the driver tell it of calls through one of the driver's tables of functions. The linker sends its request for tables here
// (--wrap): it gets a copy of that table in which subscribing is ours, so that a filter stands before its callback.
// Where the driver refuses, NVBit is told otherwise, since it would end the program.
#include "driver/tool_events.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/code_turns.h"
#include "base/say.h"
#include "driver/driver.h"
#include "driver/loaded_functions.h"
#include "driver/nvbit_end.h"
#include "nvbit.h"

namespace snoopie {

namespace {

// The driver's table for tools. Like its other tables it begins with its size in bytes.
constexpr unsigned char kTable[16] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e, 0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};
// Its words, and how it calls contexts, modules and functions; kernels that are about to be launched; and driver calls.
constexpr size_t kSubscribe = 3;
constexpr size_t kEnable = 7;
constexpr uint32_t kModules = 2;
constexpr uint32_t kLaunches = 3;
constexpr uint32_t kDriverCalls = 6;

using Callback = void(void* user, uint32_t domain, uint32_t what, const void* event);

// What comes with a driver call.
struct DriverCall {
    uint64_t unused[6];
    const char* name;
    const void* parameters;
    const void* context;
    uint64_t unused_too;
    uint32_t what;
    uint32_t is_exit;
};
static_assert(offsetof(DriverCall, name) == 0x30 && offsetof(DriverCall, context) == 0x40 && offsetof(DriverCall, is_exit) == 0x54,
              "as NVBit reads it");
using Subscribe = CUresult(void* subscriber, Callback* callback, void* user);
using Enable = CUresult(uint32_t on, uint32_t subscriber, uint32_t domain);

std::atomic<bool> heard{false};
Callback* callback = nullptr;
Subscribe* subscribe = nullptr;
Enable* enable = nullptr;
bool refused = false;

bool is_question(uint32_t call) {
    switch (call) {
        case API_CUDA_cuCtxGetCurrent:
        case API_CUDA_cuCtxGetDevice:
        case API_CUDA_cuCtxGetDevice_v2:
        case API_CUDA_cuDeviceGetAttribute:
        case API_CUDA_cuDevicePrimaryCtxGetState:
        case API_CUDA_cuFuncGetAttribute:
        case API_CUDA_cuKernelGetAttribute:
        case API_CUDA_cuStreamGetCaptureInfo:
        case API_CUDA_cuStreamGetCaptureInfo_ptsz:
        case API_CUDA_cuStreamGetCaptureInfo_v2:
        case API_CUDA_cuStreamGetCaptureInfo_v2_ptsz:
        case API_CUDA_cuStreamGetCaptureInfo_v3:
        case API_CUDA_cuStreamGetCaptureInfo_v3_ptsz:
        case API_CUDA_cuStreamIsCapturing:
        case API_CUDA_cuStreamIsCapturing_ptsz:
            return true;
        default:
            return false;
    }
}

// Loading takes milliseconds; who waits for longer has the GPU waiting for it.
constexpr std::chrono::milliseconds kPatience{3000};
// Never destroyed: threads still make calls while the process ends.
CodeTurns& turns = *new CodeTurns(kPatience);

// By the call's number: 1 + CodeTurns::Of, 0 until its name was looked at. Those of later drivers are looked at each time.
std::array<std::atomic<uint8_t>, 1024> known_calls{};

CodeTurns::Of code_of(uint32_t what, const char* name) {
    if (what >= known_calls.size()) return CodeTurns::call(name);
    uint8_t known = known_calls[what].load(std::memory_order_relaxed);
    if (known == 0) {
        known = static_cast<uint8_t>(1 + static_cast<uint8_t>(CodeTurns::call(name)));
        known_calls[what].store(known, std::memory_order_relaxed);
    }
    return static_cast<CodeTurns::Of>(known - 1);
}

// This thread is in a driver call that loads and launches nothing of the program's.
thread_local bool without_code = false;

void filter(void* user, uint32_t domain, uint32_t what, const void* event) {
    const auto pass_on = [&] { into_nvbit([&] { callback(user, domain, what, event); }); };
    if (domain == kModules) {
        const ModuleEvent heard_of(what, event);
        return pass_on();
    }
    // Of a kernel of the driver's own NVBit cannot find the function, and ends.
    if (domain == kLaunches && without_code) return;
    if (domain != kDriverCalls) return pass_on();
    const auto& call = *static_cast<const DriverCall*>(event);
    const CodeTurns::Of code = code_of(what, call.name);
    if (code != CodeTurns::Of::none && !call.is_exit) turns.begin(code, call.context);
    // A launch makes several calls of the collector's own, of which nobody wants to hear.
    const bool wanted = is_question(what) ? heard.load(std::memory_order_relaxed) : code != CodeTurns::Of::none || !OwnCalls::active();
    if (wanted) pass_on();
    // After the collector's own calls of the driver, which come between.
    without_code = code == CodeTurns::Of::none && !call.is_exit;
    if (code != CodeTurns::Of::none && call.is_exit) turns.end();
}

CUresult subscribe_filter(void* subscriber, Callback* wanted, void* user) {
    callback = wanted;
    const CUresult result = subscribe(subscriber, filter, user);
    if (result == CUDA_SUCCESS) return result;
    refused = true;
    const char* name = nullptr;
    cuGetErrorName(result, &name);
    say("nothing is recorded: another tool, such as Nsight Compute or compute-sanitizer, hears of the driver's calls already, and there is "
        "room for one (" +
        std::string(name ? name : "error " + std::to_string(result)) + "); use them in runs of their own");
    return CUDA_SUCCESS;
}

CUresult enable_domain(uint32_t on, uint32_t subscriber, uint32_t domain) {
    return refused ? CUDA_SUCCESS : enable(on, subscriber, domain);
}

// Of the driver's table, for good. NVBit asks once, while it is loaded.
const void* with_filter(const void* table) {
    size_t bytes;
    std::memcpy(&bytes, table, sizeof bytes);
    if (bytes < (kEnable + 1) * sizeof(void*) || bytes % sizeof(void*) != 0) return table;
    static auto& copy = *new std::vector<void*>;
    copy.resize(bytes / sizeof(void*));
    std::memcpy(copy.data(), table, bytes);
    subscribe = reinterpret_cast<Subscribe*>(copy[kSubscribe]);
    copy[kSubscribe] = reinterpret_cast<void*>(subscribe_filter);
    enable = reinterpret_cast<Enable*>(copy[kEnable]);
    copy[kEnable] = reinterpret_cast<void*>(enable_domain);
    return copy.data();
}

}  // namespace

void hear_questions(bool wanted) { heard.store(wanted, std::memory_order_relaxed); }

}  // namespace snoopie

extern "C" {

CUresult __real_cuGetExportTable(const void** table, const CUuuid* id);

CUresult __wrap_cuGetExportTable(const void** table, const CUuuid* id) {
    const CUresult result = __real_cuGetExportTable(table, id);
    if (result == CUDA_SUCCESS && *table && std::memcmp(id, snoopie::kTable, sizeof snoopie::kTable) == 0)
        *table = snoopie::with_filter(*table);
    return result;
}

}  // extern "C"
