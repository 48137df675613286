// NVBit's callbacks: they sort driver events and hand them to the collector.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "base/address_room.h"
#include "base/attempt.h"
#include "base/say.h"
#include "base/thread_room.h"
#include "calls/launch_calls.h"
#include "code/disassembler.h"
#include "collector.h"
#include "disassembly/known.h"
#include "driver/children.h"
#include "driver/injection.h"
#include "driver/loaded_functions.h"
#include "driver/nvbit_end.h"
#include "driver/preloaded_library.h"
#include "nvbit.h"
#include "settings/options.h"

using snoopie::Collector;
using snoopie::OutOfNvbit;
using snoopie::OwnCalls;

namespace {

// Never deleted: callbacks of other threads can still come while the process ends. Null: nothing is recorded.
Collector* collector = nullptr;
std::once_flag started;

// An exception must not pass through the driver, nor through the program's end: it costs the trace, not the application.
template <class Action>
void guarded(Action action) {
    snoopie::attempt(action, [](const char* why) {
        if (collector) snoopie::attempt([why] { collector->give_up(why); });
    });
}

__attribute__((constructor(101))) void at_load() {
    snoopie::name_the_tool_to_the_driver();
    // Handlers run in reverse order: this one after those of the program and of the driver.
    std::atexit([] {
        if (collector) guarded([] { collector->close(); });
    });
}

// Threads and processes of the collector's (5, and up to 32 that disassemble), and as many for the program.
constexpr int kThreads = 80;

void start() {
    const auto settings = snoopie::read_options(getenv);
    if (const auto* error = std::get_if<snoopie::OptionError>(&settings)) {
        fflush(nullptr);
        snoopie::say(error->sentence);
        std::_Exit(2);
    }
    if (!snoopie::threads_to_be_had(kThreads)) {
        snoopie::say("nothing is recorded: the limit on processes and threads (ulimit -u) leaves fewer than " + std::to_string(kThreads));
        return;
    }
    collector = Collector::start(std::get<snoopie::Options>(settings), [] { nvbit_set_tool_pthread(pthread_self()); }).release();
    if (!collector) return;
    // Runs before the driver's own end, which was registered earlier.
    std::atexit([] { guarded([] { collector->finish(); }); });
}

// What a context takes of them with NVBit and the collector in it, and some for the program. On an H200, the driver was seen to take 5 GiB
// for a second one, and NVBit and the collector 5 GiB for the first.
constexpr uint64_t kAddressesOfContext = uint64_t{8} << 30;

// Not null: where addresses are limited, nothing is begun whose lack of them would be the program's. Asked before the first context: a
// context without NVBit, beside one that it is in, cannot reach that one's memory.
const char* too_few_addresses() {
    const std::optional<uint64_t> room = snoopie::address_room();
    const OwnCalls own;
    int gpus = 1;
    if (!room || cuDeviceGetCount(&gpus) != CUDA_SUCCESS || *room >= kAddressesOfContext * static_cast<uint64_t>(gpus)) return nullptr;
    static const std::string& why =
        *new std::string("the limit on addresses (ulimit -v) leaves " + std::to_string(*room >> 20) + " MiB, and " +
                         std::to_string(kAddressesOfContext >> 20) + " are needed for each of " + std::to_string(gpus) + " GPUs");
    return why.c_str();
}

void at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const char* name, void* params, bool succeeded) {
    if (const auto call = snoopie::launch_call(cbid, params))
        return collector->launch_events().at_launch(context, is_exit, *call, succeeded);
    if (snoopie::MemoryEvents* memory = collector->memory_events()) {
        if (is_exit)
            memory->after(context, cbid, name, params, succeeded);
        else
            memory->before(cbid, params);
    }
    collector->copying(context, is_exit, cbid, name, params, succeeded);
    collector->launch_events().at_event(context, is_exit, cbid, params, succeeded);
    switch (cbid) {
        case API_CUDA_cuModuleUnload:
        case API_CUDA_cuLibraryUnload:
            return collector->unloaded_code().at_event(context, is_exit, cbid, params, succeeded);
        case API_CUDA_cuKernelGetFunction:
            if (succeeded) collector->function_found(*static_cast<cuKernelGetFunction_params*>(params));
            return;
        case API_CUDA_cuTensorMapEncodeTiled:
            if (succeeded) collector->tensor_map_made(*static_cast<cuTensorMapEncodeTiled_params*>(params));
            return;
        case API_CUDA_cuMemMapArrayAsync:
        case API_CUDA_cuMemMapArrayAsync_ptsz:
            if (succeeded) collector->not_followed("sparse arrays");
            return;
        default:
            return;
    }
}

}  // namespace

void nvbit_at_init() {
    snoopie::when_nvbit_ends([](const char* why) {
        if (collector) return guarded([why] { collector->give_up(why); });
        std::call_once(started, [why] { snoopie::say("nothing is recorded: " + std::string(why)); });
    });
    snoopie::answer_command = [](const char* command) {
        const std::string& disassemble = snoopie::named_disassembler();
        return !disassemble.empty() && snoopie::disassembled_from_cache(command, snoopie::shell_word(disassemble));
    };
    snoopie::preloaded_library().before_driver_ends([] {
        if (collector) guarded([] { collector->look_for_freed(); });
    });
}

void nvbit_at_term() {
    const OutOfNvbit here;
    if (collector) guarded([] { collector->finish(); });
}

void nvbit_at_ctx_init(CUcontext context) {
    if (OwnCalls::active()) return;
    static const char* const why_not = too_few_addresses();
    if (why_not) snoopie::end_nvbit(why_not);
    const OutOfNvbit here;
    guarded([&] {
        std::call_once(started, start);
        if (collector) collector->context_created(context);
    });
}

void nvbit_tool_init(CUcontext context) {
    const OutOfNvbit here;
    if (collector) guarded([&] { collector->context_ready(context); });
}

void nvbit_at_ctx_term(CUcontext context) {
    const OutOfNvbit here;
    snoopie::forget_tables(context);
    if (collector) guarded([&] { collector->context_ending(context); });
}

void nvbit_at_graph_node_launch(CUcontext context, CUfunction function, CUstream stream, uint64_t launch_handle) {
    const OutOfNvbit here;
    if (collector) guarded([&] { collector->launch_events().at_graph_kernel(context, function, stream, launch_handle); });
}

void nvbit_at_cuda_event(CUcontext context, int is_exit, nvbit_api_cuda_t cbid, const char* name, void* params, CUresult* status) {
    const OutOfNvbit here;
    // Also where nothing is recorded yet.
    if (is_exit && (cbid == API_CUDA_cuProfilerStart || cbid == API_CUDA_cuProfilerStop))
        snoopie::preloaded_library().wanted().by_profiler(cbid == API_CUDA_cuProfilerStart);
    if (!collector || OwnCalls::active()) return;
    const bool succeeded = is_exit && status && *status == CUDA_SUCCESS;
    // Next to the call itself, so that its time is without what the collector does at its entry and exit.
    if (is_exit && status) guarded([&] { collector->call_returns(cbid, name, params, *status); });
    guarded([&] { at_event(context, is_exit != 0, cbid, name, params, succeeded); });
    if (!is_exit) guarded([&] { collector->call_begins(context, cbid, snoopie::launched_kernel(cbid, params)); });
}
