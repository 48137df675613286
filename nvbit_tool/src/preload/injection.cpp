// How the collector comes into a process: not before the driver is there, and the program uses it. So this library, which is what users
// preload, names itself to the driver, and opens the collector, which lies beside it and needs the driver, when the driver calls.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/say.h"
#include "driver/injection.h"
#include "libraries/cupti_calls.h"
#include "preload/exit_order.h"
#include "preload/interface.h"
#include "preload/printed_text.h"

namespace snoopie {

namespace {

constexpr char kInjection[] = "CUDA_INJECTION64_PATH";

// "" if this library's own place is unknown.
std::string collector_path() {
    const std::string self = own_path();
    return self.empty() ? "" : self.substr(0, self.rfind('/') + 1) + "libsnoopie_collector.so";
}

// The collector is in the process already: preloaded as well, it is named by itself.
bool loaded(const std::string& path) {
    void* const collector = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (collector) dlclose(collector);
    return collector;
}

// The process where the variable named another tool, which the driver takes instead; none otherwise.
pid_t given_to_another = 0;

__attribute__((constructor(101))) void at_load() {
    const std::string collector = collector_path();
    if (loaded(collector)) return;
    // A parent that has opened the collector leaves its name to its children.
    const char* const named = std::getenv(kInjection);
    if (named && named == collector) unsetenv(kInjection);
    name_the_tool_to_the_driver();
    if (const char* const tool = std::getenv(kInjection); tool && tool != own_path()) given_to_another = getpid();
    name_the_library_to_nvtx();
}

// Who preloads this library waits for a trace.
__attribute__((destructor)) void at_unload() {
    const char* const tool = std::getenv(kInjection);
    if (given_to_another != getpid() || !tool || !dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) return;
    say("nothing is recorded, because the driver takes one tool, and " + std::string(kInjection) + " names another, " + tool +
        ": nsys sets it, for one; use them in runs of their own");
}

void open_collector() {
    const std::string collector = collector_path();
    // Where NVBit looks for its tool. The variable is there, so this does not move the environment under another thread.
    setenv(kInjection, collector.c_str(), 1);
    const EndingLast meanwhile;
    const PrintedText printed;
    if (!dlopen(collector.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        const char* const why = dlerror();
        say("nothing is recorded, because the collector cannot be opened: " + std::string(why ? why : collector));
        return;
    }
    nvbit_was_first = true;
}

}  // namespace

}  // namespace snoopie

// Called within cuInit by the driver that was told to load this library.
extern "C" int InitializeInjection() {
    static const bool once = [] {
        snoopie::given_to_another = 0;
        snoopie::open_collector();
        return true;
    }();
    return once;
}

extern "C" const snoopie::Preload snoopie_preload = {
    SNOOPIE_VERSION,
    snoopie::send_collectives_to,
    snoopie::current_collective_group,
    snoopie::send_symmetric_memory_to,
    snoopie::before_driver_ends,
    snoopie::Ranges::of_process,
    snoopie::wanted,
    snoopie::CompiledSources::of_process,
    reinterpret_cast<const void*>(&InitializeInjection),
};
