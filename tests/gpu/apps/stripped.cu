// A library without symbols but for the functions that it exports.
#include "common.cuh"

// Not exported: where it is, only its place in the file is known.
__attribute__((noinline)) static void* hidden(size_t bytes) {
    void* made = nullptr;
    CHECK(cudaMalloc(&made, bytes));
    return made;
}

extern "C" __attribute__((visibility("default"), noinline)) void* stripped_alloc(size_t bytes) {
    void* const made = hidden(bytes);
    std::fflush(nullptr);  // no tail call: it would leave no frame
    return made;
}
