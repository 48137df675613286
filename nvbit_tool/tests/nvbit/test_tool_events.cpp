// Which driver calls NVBit hears of, and which one thread at a time. This file plays the driver, from which it gets the table by which it
// subscribes.
#include "driver/tool_events.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "nvbit.h"

namespace {

using Callback = void(void* user, uint32_t domain, uint32_t what, const void* event);

Callback* subscribed = nullptr;
void* subscribed_for = nullptr;

CUresult subscribe(uint32_t* subscriber, Callback* callback, void* user) {
    subscribed = callback;
    subscribed_for = user;
    *subscriber = 7;
    return CUDA_SUCCESS;
}

struct Table {
    size_t bytes = sizeof(Table);
    void* before[2] = {};
    void* subscribe = reinterpret_cast<void*>(::subscribe);
    void* after[4] = {};
};

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

void hear(void* user, uint32_t domain, uint32_t what, const void* event) { heard.push_back({user, domain, what, event}); }

}  // namespace

extern "C" CUresult __real_cuGetExportTable(const void** given, const CUuuid*) {
    *given = driver_has;
    return driver_has ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
extern "C" CUresult __wrap_cuGetExportTable(const void** given, const CUuuid* id);

int main() {
    const void* given = nullptr;

    // Other tables are the driver's own, as is one that does not reach as far, and a refusal stays one.
    CHECK(__wrap_cuGetExportTable(&given, &kOther) == CUDA_SUCCESS && given == &table);
    driver_has = &small;
    CHECK(__wrap_cuGetExportTable(&given, &kForTools) == CUDA_SUCCESS && given == &small);
    driver_has = nullptr;
    CHECK(__wrap_cuGetExportTable(&given, &kForTools) == CUDA_ERROR_NOT_FOUND && !given);

    // The table for tools is the driver's but for subscribing.
    driver_has = &table;
    int place = 0;
    for (void*& word : table.before) word = &place + ++place;
    for (void*& word : table.after) word = &place + ++place;
    CHECK(__wrap_cuGetExportTable(&given, &kForTools) == CUDA_SUCCESS && given != &table);
    const Table copy = *static_cast<const Table*>(given);
    CHECK(copy.bytes == sizeof(Table) && copy.subscribe != table.subscribe);
    CHECK(std::memcmp(copy.before, table.before, sizeof copy.before) == 0);
    CHECK(std::memcmp(copy.after, table.after, sizeof copy.after) == 0);

    uint32_t subscriber = 0;
    CHECK(reinterpret_cast<CUresult (*)(uint32_t*, Callback*, void*)>(copy.subscribe)(&subscriber, hear, &place) == CUDA_SUCCESS);
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
    return test::summary("tool_events");
}
