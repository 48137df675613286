// Runs a scenario.  program SCENARIO: linked with scenarios.cpp and NCCL.  program SCENARIO PLUGIN...: from the last plugin, each loaded
// for itself alone, as Python loads its extensions.  program: NCCL's function by name where no library has it.
#include <dlfcn.h>

#include <cstdio>

#include "fake_nccl.h"

extern "C" __attribute__((weak)) int run_scenario(const char* name);

int main(int argc, char** argv) {
    auto run = run_scenario;
    for (int i = 2; i < argc; ++i) {
        void* plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!plugin) return std::fprintf(stderr, "%s\n", dlerror()), 3;
        run = reinterpret_cast<decltype(run)>(dlsym(plugin, "run_scenario"));
    }
    if (argc > 1) return run(argv[1]);
    const auto found = reinterpret_cast<decltype(&ncclAllReduce)>(dlsym(RTLD_DEFAULT, "ncclAllReduce"));
    for (int i = 0; i < 2; ++i) std::printf("result=%d\n", found(nullptr, nullptr, 1, ncclFloat32, ncclSum, nullptr, nullptr));
    return 0;
}
