// NVBit has the driver tell it of calls through one of the driver's tables of functions. The linker sends its request for tables here
// (--wrap): it gets a copy of that table in which subscribing is ours, so that a filter stands before its callback.
#include "driver/tool_events.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/code_turns.h"
#include "driver/loaded_functions.h"
#include "nvbit.h"

namespace snoopie {

namespace {

// The driver's table for tools. Like its other tables it begins with its size in bytes.
constexpr unsigned char kTable[16] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e, 0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};
// Its words, and how it calls contexts, modules and functions; kernels that are about to be launched; and driver calls.
constexpr size_t kSubscribe = 3;
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

std::atomic<bool> heard{false};
Callback* callback = nullptr;
Subscribe* subscribe = nullptr;

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
    if (domain == kModules) {
        const ModuleEvent heard_of(what, event);
        return callback(user, domain, what, event);
    }
    // Of a kernel of the driver's own NVBit cannot find the function, and ends the program.
    if (domain == kLaunches && without_code) return;
    if (domain != kDriverCalls) return callback(user, domain, what, event);
    const auto& call = *static_cast<const DriverCall*>(event);
    const CodeTurns::Of code = code_of(what, call.name);
    if (code != CodeTurns::Of::none && !call.is_exit) turns.begin(code, call.context);
    if (!is_question(what) || heard.load(std::memory_order_relaxed)) callback(user, domain, what, event);
    // After the collector's own calls of the driver, which come between.
    without_code = code == CodeTurns::Of::none && !call.is_exit;
    if (code != CodeTurns::Of::none && call.is_exit) turns.end();
}

CUresult subscribe_filter(void* subscriber, Callback* wanted, void* user) {
    callback = wanted;
    return subscribe(subscriber, filter, user);
}

// Of the driver's table, for good. NVBit asks once, while it is loaded.
const void* with_filter(const void* table) {
    size_t bytes;
    std::memcpy(&bytes, table, sizeof bytes);
    if (bytes < (kSubscribe + 1) * sizeof(void*) || bytes % sizeof(void*) != 0) return table;
    static auto& copy = *new std::vector<void*>;
    copy.resize(bytes / sizeof(void*));
    std::memcpy(copy.data(), table, bytes);
    subscribe = reinterpret_cast<Subscribe*>(copy[kSubscribe]);
    copy[kSubscribe] = reinterpret_cast<void*>(subscribe_filter);
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
