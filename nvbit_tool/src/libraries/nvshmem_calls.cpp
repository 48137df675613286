#include "libraries/nvshmem_calls.h"

#include <atomic>
#include <cstddef>
#include <string>

#include "libraries/preloaded.h"

namespace snoopie {

namespace {

std::atomic<SymmetricSink*> receiver{nullptr};

// The thread is in NVSHMEM, whose own calls of its public functions come here as well.
thread_local bool inside = false;

#define REAL(function) hidden_function(&function, #function, __builtin_return_address(0), "does nothing")

// `nvshmem`: any function of the library that made it.
std::vector<uint64_t> at_other_pes(void* own, const void* nvshmem) {
    const auto my_pe = reinterpret_cast<int (*)()>(next_function("nvshmem_my_pe", nvshmem));
    const auto n_pes = reinterpret_cast<int (*)()>(next_function("nvshmem_n_pes", nvshmem));
    const auto at_pe = reinterpret_cast<void* (*)(const void*, int)>(next_function("nvshmem_ptr", nvshmem));
    std::vector<uint64_t> addresses;
    if (!my_pe || !n_pes || !at_pe) return addresses;
    for (int pe = 0; pe < n_pes(); ++pe) {
        const void* address = pe == my_pe() ? nullptr : at_pe(own, pe);
        if (address) addresses.push_back(reinterpret_cast<uint64_t>(address));
    }
    return addresses;
}

template <class... Parameters>
void* allocate(const char* call, void* (*real)(Parameters...), size_t bytes, Parameters... parameters) {
    if (!real) return nullptr;
    const bool outer = inside;
    const Inside in_nvshmem(&inside);
    void* const own = real(parameters...);
    SymmetricSink* const sink = receiver;
    if (own && !outer && sink) {
        attempt([&] {
            const SymmetricMemory memory{call, reinterpret_cast<uint64_t>(own), bytes,
                                         at_other_pes(own, reinterpret_cast<const void*>(real))};
            sink->symmetric_allocated(memory);
        });
    }
    return own;
}

void release(void (*real)(void*), void* own) {
    if (!real) return;
    // Before NVSHMEM frees it, and another thread gets the same.
    SymmetricSink* const sink = receiver;
    if (own && !inside && sink) attempt([&] { sink->symmetric_freed(reinterpret_cast<uint64_t>(own)); });
    const Inside in_nvshmem(&inside);
    real(own);
}

}  // namespace

void send_symmetric_memory_to(SymmetricSink* sink) { receiver = sink; }

}  // namespace snoopie

// --- What NVSHMEM calls these ---

using namespace snoopie;

extern "C" {

void* nvshmem_malloc(size_t size) { return allocate("nvshmem_malloc", REAL(nvshmem_malloc), size, size); }

void* nvshmem_calloc(size_t count, size_t size) { return allocate("nvshmem_calloc", REAL(nvshmem_calloc), count * size, count, size); }

void* nvshmem_align(size_t alignment, size_t size) { return allocate("nvshmem_align", REAL(nvshmem_align), size, alignment, size); }

void nvshmem_free(void* own) { release(REAL(nvshmem_free), own); }

}  // extern "C"
