// A program that uses the driver: what its GPUs do stands in a script, which the fake CUPTI plays.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

int main(int count, char** words) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    const auto init = driver ? reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit")) : nullptr;
    if (!init || init(0) != 0) return 3;
    if (void* const cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD); cupti && count > 1)
        reinterpret_cast<int (*)(const char*)>(dlsym(cupti, "fake_play"))(words[1]);
    if (count > 2 && std::strcmp(words[2], "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) return 0;
        int status = -1;
        waitpid(child, &status, 0);
        if (status != 0) return 4;
    }
    std::puts("done");
    return 0;
}
