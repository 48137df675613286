// Which driver calls NVBit hears of, and which one thread at a time; and which functions it still knows when a module was unloaded. This
// file plays the driver, from which NVBit gets the table by which it subscribes, and NVBit.
#include "driver/tool_events.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <thread>
#include <unordered_map>
#include <vector>

#include "check.h"
#include "driver/driver.h"
#include "driver/loaded_functions.h"
#include "nvbit.h"

class Function {};
using Functions = std::unordered_map<CUfunction, Function*>;
// As NVBit has it: the standard library's operator[] of such a table.
Function*& entry(Functions* table, const CUfunction& function) asm(
    "_ZNSt8__detail9_Map_baseIP9CUfunc_stSt4pairIKS2_P8FunctionESaIS7_ENS_10_Select1stESt8equal_toIS2_ESt4hashIS2_"
    "ENS_18_Mod_range_hashingENS_20_Default_ranged_hashENS_20_Prime_rehash_policyENS_17_Hashtable_traitsILb0ELb0ELb1EEELb1EEixERS4_");

namespace {

using Callback = void(void* user, uint32_t domain, uint32_t what, const void* event);

Callback* subscribed = nullptr;
void* subscribed_for = nullptr;

// Where another tool has subscribed.
CUresult refuses = CUDA_SUCCESS;

CUresult subscribe(uint32_t* subscriber, Callback* callback, void* user) {
    if (refuses != CUDA_SUCCESS) return refuses;
    subscribed = callback;
    subscribed_for = user;
    *subscriber = 7;
    return CUDA_SUCCESS;
}

std::vector<uint32_t> domains;
CUresult enable(uint32_t, uint32_t, uint32_t domain) {
    if (refuses != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
    domains.push_back(domain);
    return CUDA_SUCCESS;
}

struct Table {
    size_t bytes = sizeof(Table);
    void* before[2] = {};
    void* subscribe = reinterpret_cast<void*>(::subscribe);
    void* between[3] = {};
    void* enable = reinterpret_cast<void*>(::enable);
    void* after[2] = {};
};
using Subscribe = CUresult(uint32_t* subscriber, Callback* callback, void* user);
using Enable = CUresult(uint32_t on, uint32_t subscriber, uint32_t domain);

struct SmallTable {
    size_t bytes = sizeof(SmallTable);
};

Table table;
SmallTable small;
const void* driver_has = &table;

CUuuid id_of(unsigned char last) {
    const unsigned char bytes[16] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e, 0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, last};
    CUuuid id;
    std::memcpy(&id, bytes, sizeof id);
    return id;
}
const CUuuid kForTools = id_of(0x4b);
const CUuuid kOther = id_of(0x4c);

struct Event {
    void* user;
    uint32_t domain;
    uint32_t what;
    const void* event;
};
// As the driver has it.
struct DriverCall {
    uint64_t before[6] = {};
    const char* name = "cuMemAlloc_v2";
    const void* parameters = nullptr;
    const void* context = nullptr;
    uint64_t between = 0;
    uint32_t what = 0;
    uint32_t is_exit = 0;
};

std::vector<Event> heard;

// NVBit enters the functions of a module that it hears of, and forgets none.
Functions* entered = nullptr;
std::deque<Function> made;
std::vector<CUfunction> of_module;

void hear(void* user, uint32_t domain, uint32_t what, const void* event) {
    heard.push_back({user, domain, what, event});
    for (const CUfunction function : of_module)
        if (!entered->count(function)) entry(entered, function) = &made.emplace_back();
}

template <class Handle>
Handle handle(uintptr_t number) {
    return reinterpret_cast<Handle>(number);
}

void functions_of_unloaded_modules_are_forgotten(Callback* driver, void* user) {
    struct ModuleCame {
        uint64_t unused;
        CUcontext context;
        CUmodule module;
        CUfunction function;
    };
    Functions tables[2];
    // In both contexts they have the same handles.
    const CUcontext contexts[] = {handle<CUcontext>(0x10), handle<CUcontext>(0x20)};
    const auto happens = [&](uint32_t what, int context, uintptr_t module, std::vector<uintptr_t> functions) {
        entered = &tables[context];
        of_module.clear();
        for (const uintptr_t function : functions) of_module.push_back(handle<CUfunction>(function));
        const ModuleCame event{0, contexts[context], handle<CUmodule>(module), functions.empty() ? nullptr : of_module[0]};
        driver(user, 2, what, &event);
        of_module.clear();
    };
    const auto knows = [&](int context, uintptr_t function) { return tables[context].count(handle<CUfunction>(function)) == 1; };
    constexpr uint32_t kLoaded = 0x11, kUnloading = 0x12, kFunction = 0x21;
    for (const int context : {0, 1}) {
        happens(kFunction, context, 100, {1});
        happens(kLoaded, context, 100, {1, 2});
        happens(kLoaded, context, 200, {3});
    }
    Function* const before = tables[0].at(handle<CUfunction>(1));
    happens(kUnloading, 0, 100, {});
    CHECK(!knows(0, 1) && !knows(0, 2) && knows(0, 3));
    CHECK(knows(1, 1) && knows(1, 2) && knows(1, 3));
    // Another function of the same handle is a new one.
    happens(kLoaded, 0, 300, {2, 1});
    CHECK(knows(0, 1) && tables[0].at(handle<CUfunction>(1)) != before);
    // What is looked up otherwise is of no module, nor is what NVBit knew.
    CHECK(entry(&tables[0], handle<CUfunction>(3)) == tables[0].at(handle<CUfunction>(3)));
    CHECK(entry(&tables[0], handle<CUfunction>(4)) == nullptr);
    happens(kUnloading, 0, 300, {});
    happens(kUnloading, 0, 400, {});
    CHECK(!knows(0, 1) && !knows(0, 2) && knows(0, 3) && knows(0, 4));
    // NVBit's tables of a context that ends are gone.
    snoopie::forget_tables(contexts[1]);
    happens(kUnloading, 1, 100, {});
    CHECK(knows(1, 1) && knows(1, 2) && knows(1, 3));
    heard.clear();
}

}  // namespace

extern "C" CUresult __real_cuGetExportTable(const void** given, const CUuuid*) {
    *given = driver_has;
    return driver_has ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
extern "C" CUresult __wrap_cuGetExportTable(const void** given, const CUuuid* id);
extern "C" CUresult cuGetErrorName(CUresult, const char** name) {
    *name = "CUDA_ERROR_ALREADY_ACQUIRED";
    return CUDA_SUCCESS;
}

int main() {
    const void* given = nullptr;

    // Other tables are the driver's own, as is one that does not reach as far, and a refusal stays one.
    CHECK(__wrap_cuGetExportTable(&given, &kOther) == CUDA_SUCCESS && given == &table);
    driver_has = &small;
    CHECK(__wrap_cuGetExportTable(&given, &kForTools) == CUDA_SUCCESS && given == &small);
    driver_has = nullptr;
    CHECK(__wrap_cuGetExportTable(&given, &kForTools) == CUDA_ERROR_NOT_FOUND && !given);

    // The table for tools is the driver's but for subscribing and for what is asked of a subscriber.
    driver_has = &table;
    int place = 0;
    for (void*& word : table.before) word = &place + ++place;
    for (void*& word : table.between) word = &place + ++place;
    for (void*& word : table.after) word = &place + ++place;
    CHECK(__wrap_cuGetExportTable(&given, &kForTools) == CUDA_SUCCESS && given != &table);
    const Table copy = *static_cast<const Table*>(given);
    CHECK(copy.bytes == sizeof(Table) && copy.subscribe != table.subscribe);
    CHECK(std::memcmp(copy.before, table.before, sizeof copy.before) == 0);
    CHECK(std::memcmp(copy.between, table.between, sizeof copy.between) == 0);
    CHECK(std::memcmp(copy.after, table.after, sizeof copy.after) == 0);

    uint32_t subscriber = 0;
    auto* const subscribes = reinterpret_cast<Subscribe*>(copy.subscribe);
    auto* const enables = reinterpret_cast<Enable*>(copy.enable);
    CHECK(subscribes(&subscriber, hear, &place) == CUDA_SUCCESS);
    CHECK(enables(1, subscriber, 6) == CUDA_SUCCESS && domains == std::vector<uint32_t>{6});
    CHECK(subscriber == 7 && subscribed && subscribed != hear && subscribed_for == &place);

    // Of a driver call, whose name is not one of those that take turns.
    const DriverCall event;
    const auto happens = [&](uint32_t domain, uint32_t what) {
        heard.clear();
        subscribed(subscribed_for, domain, what, &event);
        const bool whole =
            heard.size() == 1 && heard[0].user == &place && heard[0].domain == domain && heard[0].what == what && heard[0].event == &event;
        CHECK(whole || heard.empty());
        return whole;
    };
    constexpr uint32_t kCalls = 6;
    const uint32_t questions[] = {API_CUDA_cuCtxGetDevice_v2, API_CUDA_cuDevicePrimaryCtxGetState, API_CUDA_cuKernelGetAttribute,
                                  API_CUDA_cuStreamIsCapturing};
    const uint32_t others[] = {API_CUDA_cuLaunchKernel, API_CUDA_cuMemAlloc_v2, API_CUDA_cuCtxSetCurrent,
                               API_CUDA_cuEventQuery,   API_CUDA_cuStreamQuery, API_CUDA_cuModuleLoadData};
    for (const uint32_t call : others) CHECK(happens(kCalls, call));
    for (const uint32_t call : questions) {
        CHECK(!happens(kCalls, call));
        // The same number means something else there.
        CHECK(happens(2, call));
        snoopie::hear_questions(true);
        CHECK(happens(kCalls, call));
        snoopie::hear_questions(false);
        CHECK(!happens(kCalls, call));
    }
    // Calls of the collector's own, but for those of code.
    {
        const snoopie::OwnHarmlessCalls own;
        CHECK(!happens(kCalls, API_CUDA_cuMemAlloc_v2));
        CHECK(happens(2, API_CUDA_cuMemAlloc_v2));
        DriverCall launch;
        launch.name = "cuLaunchKernel";
        launch.what = API_CUDA_cuLaunchKernel_ptsz;
        for (const uint32_t is_exit : {0, 1}) {
            launch.is_exit = is_exit;
            heard.clear();
            subscribed(subscribed_for, kCalls, launch.what, &launch);
            CHECK_EQ(heard.size(), 1u);
        }
    }
    CHECK(happens(kCalls, API_CUDA_cuMemAlloc_v2));
    // Kernels of the driver's own, in calls that launch nothing of the program's.
    constexpr uint32_t kLaunches = 3;
    const auto passes = [&](const char* name, uint32_t what) {
        DriverCall one;
        one.name = name;
        one.what = what;
        subscribed(subscribed_for, kCalls, what, &one);
        const bool within = happens(kLaunches, 2);
        one.is_exit = 1;
        subscribed(subscribed_for, kCalls, what, &one);
        CHECK(happens(kLaunches, 2));
        return within;
    };
    CHECK(!passes("cuCtxResetPersistingL2Cache", API_CUDA_cuCtxResetPersistingL2Cache));
    CHECK(!passes("cuMemsetD8_v2", API_CUDA_cuMemsetD8_v2));
    CHECK(passes("cuLaunchKernelEx", API_CUDA_cuLaunchKernelEx));
    CHECK(passes("cuGraphLaunch", API_CUDA_cuGraphLaunch));

    // A launch has its turn from its entry to its exit: another thread's unloading of code in the same context comes after it, one in
    // another context does not wait.
    int contexts[2] = {};
    const auto call = [&](uint32_t what, const char* name, const void* context, uint32_t is_exit) {
        DriverCall one;
        one.name = name;
        one.context = context;
        one.what = what;
        one.is_exit = is_exit;
        subscribed(subscribed_for, kCalls, what, &one);
    };
    std::atomic<int> loads{0};
    const auto load = [&](const void* context) {
        call(API_CUDA_cuModuleUnload, "cuModuleUnload", context, 0);
        ++loads;
        call(API_CUDA_cuModuleUnload, "cuModuleUnload", context, 1);
    };
    heard.reserve(100);
    call(API_CUDA_cuLaunchKernelEx, "cuLaunchKernelEx", &contexts[0], 0);
    std::thread(load, &contexts[1]).join();
    CHECK_EQ(loads.load(), 1);
    std::thread waits(load, &contexts[0]);
    std::this_thread::yield();
    CHECK_EQ(loads.load(), 1);
    call(API_CUDA_cuLaunchKernelEx, "cuLaunchKernelEx", &contexts[0], 1);
    waits.join();
    CHECK_EQ(loads.load(), 2);
    functions_of_unloaded_modules_are_forgotten(subscribed, subscribed_for);

    // Refused, NVBit is told that it is not, and asks the driver for nothing more.
    refuses = static_cast<CUresult>(210);
    CHECK(subscribes(&subscriber, hear, &place) == CUDA_SUCCESS);
    CHECK(enables(1, subscriber, 2) == CUDA_SUCCESS && domains.size() == 1);
    return test::summary("tool_events");
}
