// A program that uses NCCL: linked with it, or, with the path of the library as its first argument, by what it looks up there. With a
// script as the second, its GPUs do what that says (tests/times).
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ranged_nccl.h"

extern void fake_context(void) __attribute__((weak));

#ifdef LINKED
#define FUNCTION(name) name
#else
static void* library;
#define FUNCTION(name) ((__typeof__(&name))dlsym(library, #name))
#endif

enum { kFloat32 = 7, kMax = 2 };

int main(int count, char** words) {
#ifndef LINKED
    library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return 2;
#endif
    int (*play)(const char*) = NULL;
    if (count > 2) {
        void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        int (*const init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
        if (!init || init(0) != 0) return 3;
        void* const cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
        play = cupti ? (int (*)(const char*))dlsym(cupti, "fake_play") : NULL;
        if (!play) return 4;
    }
    if (fake_context) fake_context();
    ncclUniqueId id;
    memset(&id, 0x5a, sizeof id);
    ncclComm_t comm = NULL;
    FUNCTION(ncclCommInitRank)(&comm, 4, id, 2);
    FUNCTION(ncclAllReduce)(NULL, NULL, 1024, kFloat32, kMax, comm, NULL);
    // Before and after the trace of the clean recording is there.
    if (play) play(words[2]);
    FUNCTION(ncclGroupStart)();
    FUNCTION(ncclSend)(NULL, 8, kFloat32, 3, comm, NULL);
    FUNCTION(ncclRecv)(NULL, 16, kFloat32, 1, comm, NULL);
    FUNCTION(ncclGroupEnd)();
    FUNCTION(ncclAllGather)(NULL, NULL, 100, kFloat32, comm, NULL);
    FUNCTION(ncclBroadcast)(NULL, NULL, 25, kFloat32, 0, comm, NULL);
    puts("done");
    return 0;
}
