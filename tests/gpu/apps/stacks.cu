// stacks: allocations, launches and copies whose call stacks the test knows; each line that is named there ends in a marker.
//
// On GPU 0: an allocation by an inlined function, one by a stripped library, one by each of two threads, which free each other's, and one
// in a recursion; launches of one kernel from two functions; a copy from GPU 0 to GPU 1. Then a child process, forked before CUDA was
// used, allocates alone.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "channel.h"
#include "common.cuh"

extern "C" void* stripped_alloc(size_t bytes);

constexpr size_t kBytes = 1 << 20;

__global__ void touch(float* peer) { peer[threadIdx.x] += 1; }

// What follows a call keeps it from being the function's last act, which would leave no frame.
std::atomic<int> after{0};

__attribute__((always_inline)) inline float* inlined(size_t bytes) {
    float* made = nullptr;
    CHECK(cudaMalloc(&made, bytes));  // stack: inlined
    return made;
}

__attribute__((noinline)) float* builder() {
    float* built = inlined(kBytes);  // stack: builder
    ++after;
    return built;
}

__attribute__((noinline)) void* recursion(int depth) {
    if (depth == 0) {
        void* deep = nullptr;
        CHECK(cudaMalloc(&deep, 3 * kBytes));  // stack: deepest
        return deep;
    }
    void* const made = recursion(depth - 1);  // stack: recursion
    ++after;
    return made;
}

__attribute__((noinline)) void launch_here(float* peer) {
    touch<<<1, 32>>>(peer);  // stack: here
    ++after;
}

__attribute__((noinline)) void launch_there(float* peer) {
    touch<<<1, 32>>>(peer);  // stack: there
    ++after;
}

__attribute__((noinline)) void copy_over(float* to, const float* from) {
    CHECK(cudaMemcpyPeer(to, 1, from, 0, kBytes));  // stack: copy
    ++after;
}

// Each thread allocates, and frees what the other has.
void* slots[2];
std::atomic<int> arrived{0};

void exchange(int mine) {
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&slots[mine], (4 + mine) * kBytes));  // stack: exchange
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
    CHECK(cudaFree(slots[1 - mine]));
}

__attribute__((noinline)) void child_alloc() {
    void* kept = nullptr;
    CHECK(cudaMalloc(&kept, 7 * kBytes));  // stack: child
    ++after;
}

int main() {
    const Ends ends = connected_sockets();
    const pid_t child = fork();
    if (child == 0) {
        receive_value<int>(ends.other);
        child_alloc();
        std::exit(0);
    }
    open_gpus("stacks");

    CHECK(cudaSetDevice(1));
    float* remote = nullptr;
    CHECK(cudaMalloc(&remote, 2 * kBytes));  // stack: remote
    CHECK(cudaSetDevice(0));
    float* const local = builder();
    void* const hidden = stripped_alloc(6 * kBytes);  // stack: stripped
    void* const deep = recursion(5);
    std::thread one(exchange, 0);
    std::thread other(exchange, 1);
    one.join();
    other.join();
    for (int i = 0; i < 3; ++i) launch_here(remote);
    for (int i = 0; i < 2; ++i) launch_there(remote);
    copy_over(remote, local);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(hidden));
    CHECK(cudaFree(deep));

    send_value(ends.one, 1);
    int status = 0;
    waitpid(child, &status, 0);
    return verdict(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
