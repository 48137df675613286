// Stands in for libcuda.so.1: loads a tool as the driver does, and answers until the end that it has registered in cuInit.
#include "driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace {

bool ended = false;
void (*subscriber)(const char*) = nullptr;

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
        std::atexit([] {
            ended = true;
            tell("driver: ends");
        });
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
