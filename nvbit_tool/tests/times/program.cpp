// A program that uses the driver: what its GPUs do stands in a script, which the fake CUPTI plays.
#include <dlfcn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../include/snoopie.h"

int main(int count, char** words) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    const auto init = driver ? reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit")) : nullptr;
    if (!init || init(0) != 0) return 3;
    if (count > 2 && std::strcmp(words[2], "time") == 0) {
        timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        std::printf("initialized at %lld\n", now.tv_sec * 1'000'000'000LL + now.tv_nsec);
    }
    const bool names = count > 2 && std::strcmp(words[2], "ranges") == 0;
    if (names) {
        // As NVTX looks for it.
        void* const nvtx = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_NOW);
        if (!nvtx || !dlsym(nvtx, "InitializeInjectionNvtx2")) return 5;
        snoopie_begin("before");
        snoopie_end();
        snoopie_begin("open");
        snoopie_begin("around");
    }
    if (void* const cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD); cupti && count > 1)
        reinterpret_cast<int (*)(const char*)>(dlsym(cupti, "fake_play"))(words[1]);
    if (names) snoopie_end();
    if (count > 2 && std::strcmp(words[2], "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            snoopie_begin("of the child");
            snoopie_end();
            return 0;
        }
        int status = -1;
        waitpid(child, &status, 0);
        if (status != 0) return 4;
    }
    std::puts("done");
    return 0;
}
