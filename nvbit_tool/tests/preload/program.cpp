// A program that uses the driver, linked to it (-DLINKED) or by opening it, as a runtime that is linked statically does.
//
//   program [prints | profiles | fork | children COMMAND …]
#include <dlfcn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver.h"

extern "C" {
int cuptiSubscribe(void** subscriber, void* callback, void* data);
int cuptiSubscribe_v2(void** subscriber, void* callback, void* data, void* parameters);
}

namespace {

int (*init)(unsigned) = nullptr;
void (*call)(const char*) = nullptr;

void find_driver() {
#ifdef LINKED
    init = cuInit;
    call = cuCall;
#else
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) return;
    init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    call = reinterpret_cast<void (*)(const char*)>(dlsym(driver, "cuCall"));
#endif
}

// As a profiler in the program does, by both of CUPTI's functions, twice.
void profile() {
#ifdef LINKED
    const auto first = cuptiSubscribe;
    const auto second = cuptiSubscribe_v2;
#else
    if (dlsym(RTLD_DEFAULT, "cuptiSubscribe")) tell("program: there is a CUPTI, although none was opened");
    void* const cupti = dlopen("libcupti.so", RTLD_NOW | RTLD_LOCAL);
    const auto first = reinterpret_cast<int (*)(void**, void*, void*)>(dlsym(cupti, "cuptiSubscribe"));
    const auto second = reinterpret_cast<int (*)(void**, void*, void*, void*)>(dlsym(cupti, "cuptiSubscribe_v2"));
#endif
    for (int i = 0; i < 2; ++i)
        tell("program: CUPTI answers",
             std::to_string(first(nullptr, nullptr, nullptr)) + " " + std::to_string(second(nullptr, nullptr, nullptr, nullptr)));
}

// Made before the driver is asked for anything, and so destroyed behind all that comes then.
struct Early {
    ~Early() {
        if (call) call("early");
    }
} early;

struct Late {
    ~Late() { call("late"); }
};

int use() {
    if (init(0) != 0) return 3;
    call("main");
    static const Late late;
    return 7;
}

}  // namespace

int main(int count, char** words) {
    find_driver();
    if (!init) {
        tell("program: no driver");
        return 5;
    }
    if (count > 1 && std::strcmp(words[1], "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) return use();
        int status = 0;
        waitpid(child, &status, 0);
        call = nullptr;
        return WEXITSTATUS(status);
    }
    // Into a buffer, where stdout is no terminal.
    if (count > 1 && std::strcmp(words[1], "prints") == 0) std::puts("program: prints");
    const int status = use();
    if (count > 1 && std::strcmp(words[1], "profiles") == 0) profile();
    if (count > 2 && std::strcmp(words[1], "children") == 0) return std::system(words[2]) == 0 ? status : 4;
    return status;
}
