// What the programs in this folder share: checked CUDA calls, arguments, GPUs that reach each other.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

// Exit status of a program that cannot run on this machine, as opposed to one that failed.
constexpr int kCannotRun = 77;

inline void check(cudaError_t status, const char* call, const char* file, int line) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
    std::exit(1);
}

// Says why the program cannot run here; its value is the exit status.
inline int cannot_run(const char* program, const char* why) {
    std::printf("%s: not here: %s\n", program, why);
    return kCannotRun;
}

// The argument as a whole number in [least, most]; leaves the program with `usage` otherwise.
inline long argument(const char* text, long least, long most, const char* usage) {
    char* end = nullptr;
    const long value = text == nullptr ? least - 1 : std::strtol(text, &end, 10);
    if (text != nullptr && end != text && *end == '\0' && value >= least && value <= most) return value;
    std::fprintf(stderr, "usage: %s\n", usage);
    std::exit(2);
}

// Number of visible GPUs, none of which is used by that. Leaves the program where there are fewer than `least`, or where
// two of them cannot reach each other.
inline int reachable_gpus(const char* program, int least = 2) {
    int gpus = 0;
    const cudaError_t status = cudaGetDeviceCount(&gpus);
    if (status != cudaErrorNoDevice) CHECK(status);
    if (gpus < least) {
        std::printf("%s: needs at least %d GPUs, sees %d\n", program, least, gpus);
        std::exit(kCannotRun);
    }
    for (int gpu = 0; gpu < gpus; ++gpu) {
        for (int peer = 0; peer < gpus; ++peer) {
            if (peer == gpu) continue;
            int reachable = 0;
            CHECK(cudaDeviceCanAccessPeer(&reachable, gpu, peer));
            if (reachable) continue;
            std::printf("%s: GPU %d cannot reach the memory of GPU %d\n", program, gpu, peer);
            std::exit(kCannotRun);
        }
    }
    return gpus;
}

// The same, after opening the memory of each GPU to all others.
inline int open_gpus(const char* program, int least = 2) {
    const int gpus = reachable_gpus(program, least);
    for (int gpu = 0; gpu < gpus; ++gpu) {
        CHECK(cudaSetDevice(gpu));
        for (int peer = 0; peer < gpus; ++peer)
            if (peer != gpu) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    }
    return gpus;
}

// Stands where a GPU's number does, for pinned memory of the host.
constexpr int kHost = -1;

// Where a program whose kernels all run on GPU 0 has the memory that they reach: on GPU 1, or on the host if GPU 0 is the
// only one that it sees.
inline int far_place(const char* program) { return open_gpus(program, 1) > 1 ? 1 : kHost; }

// Memory of a GPU, or of the host. Leaves GPU 0 as the current one.
inline void* memory_at(int place, size_t bytes) {
    void* address = nullptr;
    CHECK(cudaSetDevice(place == kHost ? 0 : place));
    if (place == kHost)
        CHECK(cudaHostAlloc(&address, bytes, cudaHostAllocPortable));
    else
        CHECK(cudaMalloc(&address, bytes));
    CHECK(cudaSetDevice(0));
    return address;
}

// How the check of one part of a program ended; a machine may lack what the part needs.
enum class Outcome { right, wrong, not_here };

inline Outcome outcome(bool right) { return right ? Outcome::right : Outcome::wrong; }

inline const char* text(Outcome outcome) {
    return outcome == Outcome::not_here ? "not here" : outcome == Outcome::right ? "right" : "wrong";
}

// Says how the program's check of its own result ended; its value is the exit status.
inline int verdict(bool right) {
    std::puts(right ? "PASS" : "FAIL");
    return right ? 0 : 1;
}
