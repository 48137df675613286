// Copies that run beside the threads (cp.async.bulk): waiting for them. Needs sm_90.
#pragma once

#include <cstdint>

__device__ inline uint32_t in_shared(const void* address) { return static_cast<uint32_t>(__cvta_generic_to_shared(address)); }

// By one thread, before a barrier of the block.
__device__ inline void begin_barrier(uint64_t* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(in_shared(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// By one thread: the barrier is complete when so many bytes have arrived.
__device__ inline void expect_bytes(uint64_t* barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(barrier)), "r"(bytes) : "memory");
}

// By all threads that read what arrives. Gives up after about two seconds, so that a mistake is a wrong result and not a hang.
__device__ inline void wait_for_bytes(uint64_t* barrier) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    uint32_t complete = 0;
    do {
        asm volatile(
            "{\n\t.reg .pred p;\n\t"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\t"
            "selp.b32 %0, 1, 0, p;\n\t}"
            : "=r"(complete)
            : "r"(in_shared(barrier))
            : "memory");
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (!complete && now - start < 2000000000);
}

// By every thread, after writing to shared memory what a copy will read, before a barrier of the block.
__device__ inline void show_to_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// By the thread that issued copies out of shared memory: until they have arrived.
__device__ inline void wait_until_written() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
