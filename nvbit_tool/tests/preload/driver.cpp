// Stands in for libcuda.so.1: loads a tool as the driver does, and answers until the end that it has registered in cuInit, or, where
// REGISTERS=early, when it was loaded.
#include "driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace {

bool ended = false;
void (*subscriber)(const char*) = nullptr;

void register_end() {
    std::atexit([] {
        ended = true;
        tell("driver: ends");
    });
}

bool early() {
    const char* const when = std::getenv("REGISTERS");
    return when && std::strcmp(when, "early") == 0;
}

__attribute__((constructor)) void at_load() {
    if (early()) register_end();
}

void load_tool() {
    const char* const path = std::getenv("CUDA_INJECTION64_PATH");
    void* const tool = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    const auto initialize = tool ? reinterpret_cast<int (*)()>(dlsym(tool, "InitializeInjection")) : nullptr;
    if (initialize) initialize();
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
    static const bool once = [] {
        load_tool();
        tell("driver: begins");
        if (!early()) register_end();
        return true;
    }();
    return !once;
}

void subscribe(void (*callback)(const char*)) { subscriber = callback; }

void cuCall(const char* name) {
    if (ended) return tell("driver: too late for", name);
    if (subscriber) subscriber(name);
}
}
