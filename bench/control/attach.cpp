// The control of the clean recording: CUPTI alone, attached to a process that runs and detached again, which takes what the clean recording
// asks for (snoopie_times.so) and throws it away.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "times/cupti.h"

namespace {

namespace cupti = snoopie::cupti;

constexpr size_t kBufferBytes = 1 << 20;

cupti::Library library;
cupti::Result (*finalize)() = nullptr;
std::atomic<uint64_t> records{0}, launches{0};

void give(uint8_t** buffer, size_t* size, size_t* most_records) {
    *buffer = static_cast<uint8_t*>(std::calloc(1, kBufferBytes));
    *size = *buffer ? kBufferBytes : 0;
    *most_records = 0;
}

void take(cupti::Context, uint32_t, uint8_t* buffer, size_t, size_t valid) {
    cupti::Record* record = nullptr;
    while (library.next_record(buffer, valid, &record) == 0) ++records;
    std::free(buffer);
}

void hear(void*, int, uint32_t, const cupti::CallData* call) {
    if (call->site == cupti::kBegins) ++launches;
}

// 0, or -1 with a line on stderr.
int checked(cupti::Result result, const char* what) {
    if (result != 0) std::fprintf(stderr, "CUPTI (%s), %s: %s\n", library.path.c_str(), what, library.text(result).c_str());
    return result == 0 ? 0 : -1;
}

}  // namespace

// All return 0, or -1 with a line on stderr.
extern "C" {

// Loads the CUPTI that the clean recording would. `major`: the driver's version of CUDA.
int find_cupti(const char* program, int major) {
    std::string why;
    const auto found = cupti::load(program, major, &why);
    if (found) {
        library = *found;
        finalize = reinterpret_cast<decltype(finalize)>(dlsym(dlopen(library.path.c_str(), RTLD_LAZY | RTLD_NOLOAD), "cuptiFinalize"));
    }
    if (found && finalize && library.subscribe && library.enable_callback && library.set_attribute) return 0;
    std::fprintf(stderr, "%s\n", found ? "this CUPTI cannot be detached" : why.c_str());
    return -1;
}

// Has launches heard, and the kinds of records of which bit n is set recorded.
int attach(unsigned kinds) {
    cupti::Subscriber subscriber = nullptr;
    if (checked(library.subscribe(&subscriber, hear, nullptr), "subscribing") != 0) return -1;
    // Each CUPTI knows those of its own time.
    for (const uint32_t launch : cupti::kDriverLaunches) library.enable_callback(1, subscriber, cupti::kDriverCalls, launch);
    if (kinds == 0) return 0;
    uint8_t zeroed = 1;
    size_t size = sizeof zeroed;
    library.set_attribute(cupti::kZeroedBuffers, &size, &zeroed);
    if (checked(library.register_callbacks(give, take), "registering") != 0) return -1;
    for (uint32_t kind = 0; kind < 32; ++kind)
        if (kinds >> kind & 1 && checked(library.enable(static_cast<cupti::Kind>(kind)), "enabling") != 0) return -1;
    return 0;
}

int detach() { return checked(library.flush_all(cupti::kFlushForced), "flushing") | checked(finalize(), "detaching"); }

uint64_t records_taken() { return records; }
uint64_t launches_heard() { return launches; }

}  // extern "C"
