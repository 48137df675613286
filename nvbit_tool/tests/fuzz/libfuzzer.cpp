// The targets for libFuzzer, which finds new ways through the code by itself:  SNOOPIE_FUZZ=cubin build/fuzz/libfuzzer CORPUS
#include <cstdio>
#include <cstdlib>

#include "target.h"

static const fuzz::Target* target = nullptr;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    const char* name = std::getenv("SNOOPIE_FUZZ");
    target = name ? fuzz::find_target(name) : nullptr;
    if (target) return 0;
    std::fprintf(stderr, "SNOOPIE_FUZZ names the target, one of:");
    for (const fuzz::Target& one : fuzz::targets()) std::fprintf(stderr, " %s", one.name);
    std::fprintf(stderr, "\n");
    std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    target->run({reinterpret_cast<const char*>(data), size});
    return 0;
}
