// waits ring MS | block MS | never | host MS | move MS: kernels of GPU 0 and GPU 1 that wait for each other; GPU 0 begins.
//
//   ring MS    a token goes round three times; before the third, GPU 0 spins for MS milliseconds: GPU 1 waits for it as long
//   block MS   eight blocks of GPU 1 wait for eight of GPU 0, of which block 5 spins for MS milliseconds before it stores
//   never      the ring, where GPU 0 keeps the token of the third round: GPU 1 waits until the program is ended
//   host MS    GPU 0 alone: its kernel tells the host that it runs, and waits for the host's answer, which comes MS milliseconds later
//   move MS    GPU 0 alone: eight blocks of a warp each store three times to the host's memory. After the first time block 5 spins for MS
//              milliseconds, and block 2 waits for the host's answer, which comes MS milliseconds after its first store
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "arrays.cuh"

constexpr int kRounds = 3;
constexpr int kBlocks = 8;
constexpr int kSlow = 5;
constexpr int kWaits = 2;
constexpr int kTimes = 3;
constexpr int kLanes = 32;
// A mailbox has pages of its own, so that the trace tells it from other memory.
constexpr size_t kMailbox = 2 << 20;

__device__ void spin(uint64_t milliseconds) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < milliseconds * 1000000);
}

// Each round GPU 0 stores first; the answer of GPU 1 tells that it runs.
__global__ void ring(volatile uint32_t* there, const volatile uint32_t* here, uint32_t rounds, bool first, uint64_t milliseconds,
                     bool keeps) {
#pragma unroll 1
    for (uint32_t round = 1; round <= rounds; ++round) {
        if (first) {
            if (round == kRounds) spin(milliseconds);
            if (round == kRounds && keeps) return;
            *there = round;  // remote: pass
        }
        while (*here < round) {  // waits: turn
        }
        if (!first) *there = round;  // remote: answer
    }
}

// The two of a pair of blocks first tell each other that they run.
__global__ void produce(volatile uint32_t* there, const volatile uint32_t* here, bool runs, uint64_t milliseconds) {
    if (!runs) return;
    while (here[blockIdx.x] == 0) {  // waits: ready
    }
    if (blockIdx.x == kSlow) spin(milliseconds);
    there[blockIdx.x] = 1;  // remote: product
}

__global__ void consume(volatile uint32_t* there, const volatile uint32_t* here, bool runs) {
    if (!runs) return;
    there[blockIdx.x] = 1;           // remote: ready
    while (here[blockIdx.x] == 0) {  // waits: product
    }
}

__global__ void ask(volatile uint32_t* question, const volatile uint32_t* answer, bool runs) {
    if (!runs) return;
    *question = 1;          // remote: question
    while (*answer == 0) {  // waits: answer
    }
}

__global__ void move(volatile uint32_t* there, const volatile uint32_t* answer, bool runs, uint64_t milliseconds) {
    if (!runs) return;
#pragma unroll 1
    for (int i = 1; i <= kTimes; ++i) {
        if (i == 2 && blockIdx.x == kSlow) spin(milliseconds);
        if (i == 2 && blockIdx.x == kWaits) {
            while (*answer == 0) {  // waits: between
            }
        }
        there[blockIdx.x * kLanes + threadIdx.x] = i;  // remote: move
    }
}

int move_and_wait(uint64_t milliseconds) {
    reachable_gpus("waits", 1);
    auto* const there = static_cast<volatile uint32_t*>(memory_at(kHost, kMailbox));
    auto* const answer = static_cast<volatile uint32_t*>(memory_at(kHost, kMailbox));
    for (int i = 0; i < kBlocks * kLanes; ++i) there[i] = 0;
    *answer = 0;
    for (const bool runs : {false, true}) {
        move<<<kBlocks, kLanes>>>(there, answer, runs, milliseconds);
        CHECK(cudaGetLastError());
        while (runs && there[kWaits * kLanes] == 0) std::this_thread::yield();
        if (runs) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        if (runs) *answer = 1;
        CHECK(cudaDeviceSynchronize());
    }
    bool right = true;
    for (int i = 0; i < kBlocks * kLanes; ++i) right = right && there[i] == kTimes;
    return verdict(right);
}

int wait_for_host(uint64_t milliseconds) {
    reachable_gpus("waits", 1);
    auto* const question = static_cast<volatile uint32_t*>(memory_at(kHost, kMailbox));
    auto* const answer = static_cast<volatile uint32_t*>(memory_at(kHost, kMailbox));
    *question = *answer = 0;
    for (const bool runs : {false, true}) {
        ask<<<1, 1>>>(question, answer, runs);
        CHECK(cudaGetLastError());
        while (runs && *question == 0) std::this_thread::yield();
        if (runs) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        if (runs) *answer = 1;
        CHECK(cudaDeviceSynchronize());
    }
    return verdict(true);
}

int main(int argc, char** argv) {
    const char* usage = "waits ring MS | block MS | never | host MS | move MS    (MS from 0 to 10000)";
    const bool never = argc == 2 && std::strcmp(argv[1], "never") == 0;
    const bool block = argc == 3 && std::strcmp(argv[1], "block") == 0;
    const bool host = argc == 3 && std::strcmp(argv[1], "host") == 0;
    const bool moves = argc == 3 && std::strcmp(argv[1], "move") == 0;
    if (!never && !block && !host && !moves && (argc != 3 || std::strcmp(argv[1], "ring") != 0)) argument(nullptr, 0, 0, usage);
    const uint64_t milliseconds = never ? 0 : argument(argv[2], 0, 10000, usage);
    if (host) return wait_for_host(milliseconds);
    if (moves) return move_and_wait(milliseconds);
    open_gpus("waits");
    const Array mailboxes[] = {Array(0, kMailbox), Array(1, kMailbox)};
    // What is done at a first launch must not have to wait for a kernel that waits for this one: first they all do nothing.
    for (const bool runs : {false, true}) {
        for (int gpu = 0; gpu < 2; ++gpu) {
            CHECK(cudaSetDevice(gpu));
            uint32_t* const there = mailboxes[1 - gpu];
            const uint32_t* const here = mailboxes[gpu];
            if (!block)
                ring<<<1, 1>>>(there, here, runs ? kRounds : 0, gpu == 0, milliseconds, never);
            else if (gpu == 0)
                produce<<<kBlocks, 1>>>(there, here, runs, milliseconds);
            else
                consume<<<kBlocks, 1>>>(there, here, runs);
            CHECK(cudaGetLastError());
        }
        for (int gpu = 0; gpu < 2; ++gpu) {
            CHECK(cudaSetDevice(gpu));
            CHECK(cudaDeviceSynchronize());
        }
    }
    bool right = true;
    for (const Array& mailbox : mailboxes)
        for (int i = 0; i < (block ? kBlocks : 1); ++i) right = right && mailbox.read<uint32_t>()[i] == (block ? 1 : kRounds);
    return verdict(right);
}
