// How the clean recording gets into a program: preloaded, or named in CUDA_INJECTION64_PATH, from which the driver calls it in cuInit.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <variant>

#include "base/say.h"
#include "driver/injection.h"
#include "settings/options.h"
#include "times/recorder.h"

namespace {

__attribute__((constructor)) void at_load() {
    snoopie::name_the_tool_to_the_driver();
    snoopie::name_the_library_to_nvtx();
}

void start() {
    const auto settings = snoopie::read_options(getenv);
    if (const auto* error = std::get_if<snoopie::OptionError>(&settings)) {
        fflush(nullptr);
        snoopie::say(error->sentence);
        _exit(2);
    }
    std::string why;
    // Lives as long as the process.
    static_cast<void>(snoopie::Recorder::start(std::get<snoopie::Options>(settings), &why).release());
    if (!why.empty()) snoopie::say(why + "; nothing is recorded");
}

}  // namespace

// An exception must not pass through the driver: it costs the trace, not the application.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    static std::once_flag started;
    try {
        std::call_once(started, start);
    } catch (const std::exception& error) {
        snoopie::say(std::string("nothing is recorded: ") + error.what());
    }
    return 1;
}
