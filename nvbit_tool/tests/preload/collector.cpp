// Stands in for libsnoopie_collector.so: says when it is opened, what it hears, and when its handlers and destructors run.
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "driver.h"
#include "driver/injection.h"
#include "driver/preloaded_library.h"

namespace {

// As the real one does, for where it is preloaded itself.
__attribute__((constructor(101))) void before_all() { snoopie::name_the_tool_to_the_driver(); }

// As NVBit does. With THREADS it says if another thread could print meanwhile.
void print_to_nowhere() {
    const int out = dup(STDOUT_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    std::puts("a banner");
    std::fflush(stdout);
    bool printed = false;
    std::thread([&] {
        if ((printed = ftrylockfile(stdout) == 0)) funlockfile(stdout);
    }).join();
    close(nowhere);
    dup2(out, STDOUT_FILENO);
    close(out);
    if (printed && std::getenv("THREADS")) tell("collector: another thread's text is lost");
}

struct Whole {
    Whole() {
        print_to_nowhere();
        tell("collector: opened as", std::getenv("CUDA_INJECTION64_PATH"));
    }
    ~Whole() {
        alive = false;
        tell("collector: destroyed");
    }
    bool alive = true;
} whole;

void hear(const char* call) {
    static const bool first = [] {
        std::atexit([] { tell("collector: finishes"); });
        return true;
    }();
    tell(first && whole.alive ? "collector: hears" : "collector: dead at", call);
}

__attribute__((constructor)) void at_load() {
    std::atexit([] { tell("collector: closes"); });
    snoopie::preloaded_library().before_driver_ends([] { tell("collector: looks for what was freed"); });
    tell("collector: beside", snoopie::preloaded_library().code ? "a preloaded library" : "nothing");
    subscribe(hear);
}

}  // namespace
