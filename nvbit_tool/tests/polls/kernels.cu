// Kernels that wait, in the ways of programs and libraries, and some that look alike and do not: for test_polling.cpp.
#include <cooperative_groups.h>
#include <cuda/atomic>

#define KERNEL extern "C" __global__ void

__device__ int acquire(const int* p) {
    int v;
    asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ int relaxed(const int* p) {
    int v;
    asm volatile("ld.relaxed.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

// --- Waits ---
KERNEL spin_volatile(volatile int* flag, int* out) {
    while (*flag == 0) {
    }
    *out = 1;
}
KERNEL spin_acquire(const int* flag, int epoch, int* out) {
    while (acquire(flag) < epoch) {
    }
    *out = 1;
}
KERNEL spin_last(volatile int* flag) {
    while (*flag == 0) {
    }
}
KERNEL spin_sleep(const int* flag, int* out) {
    unsigned ns = 8;
    while (acquire(flag) == 0) {
        __nanosleep(ns);
        if (ns < 256) ns *= 2;
    }
    *out = 1;
}
KERNEL spin_cas(int* lock, int* out) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    *out = 1;
}
KERNEL spin_exchange(int* lock, int* out) {
    while (atomicExch(lock, 1) != 0) {
    }
    *out += 1;
    __threadfence();
    atomicExch(lock, 0);
}
KERNEL spin_add_zero(int* flag, int* out) {
    while (atomicAdd(flag, 0) == 0) {
    }
    *out = 1;
}
KERNEL spin_unrolled(volatile int* flag, int* out) {
#pragma unroll 4
    for (int i = 0; i < 1 << 20; ++i)
        if (*flag) break;
    *out = 1;
}
KERNEL spin_timeout(const int* flag, long long cycles, int* out) {
    const long long start = clock64();
    while (acquire(flag) == 0)
        if (clock64() - start > cycles) {
            *out = -1;
            return;
        }
    *out = 1;
}
KERNEL spin_trap(int* signal, int* out) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    while (atomicCAS_system(signal, 1, 0) != 1) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now - start > 1000000000ull) __trap();
    }
    *out = 1;
}
// As NCCL waits for a step: every so often it looks at another flag as well.
KERNEL spin_abort(volatile unsigned long long* step, volatile unsigned* abort, unsigned long long wanted, int* out) {
    int spins = 0;
    unsigned long long seen = 0;
    while (seen < wanted) {
        seen = *step;
        if (++spins == 10000) {
            spins = 0;
            if (*abort) break;
        }
    }
    *out = static_cast<int>(seen);
}
// The same, where all GPUs may have to have got there: it loads the least step of all of them at once.
KERNEL spin_multimem(unsigned long long* step, volatile unsigned* abort, unsigned long long wanted, bool all, int* out) {
    int spins = 0;
    unsigned long long seen = 0;
    while (seen < wanted) {
#if __CUDA_ARCH__ >= 900
        if (all)
            asm volatile("multimem.ld_reduce.acquire.sys.global.min.u64 %0, [%1];" : "=l"(seen) : "l"(step) : "memory");
        else
#endif
            seen = *static_cast<volatile unsigned long long*>(step);
        if (++spins == 10000) {
            spins = 0;
            if (*abort) break;
        }
    }
    *out = static_cast<int>(seen);
}
// As NCCL's LL protocol: data with their flags.
KERNEL spin_ll(const uint4* line, unsigned flag, uint2* out) {
    unsigned d1, f1, d2, f2;
    do {
        asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(d1), "=r"(f1), "=r"(d2), "=r"(f2)
                     : "l"(line + threadIdx.x)
                     : "memory");
    } while (f1 != flag || f2 != flag);
    out[threadIdx.x] = make_uint2(d1, d2);
}
// Until all lanes of the warp have theirs.
KERNEL spin_vote(const ulonglong2* lines, unsigned long long flag, unsigned long long* out) {
    unsigned long long v0, v1;
    bool again;
    do {
        asm volatile("ld.volatile.global.v2.u64 {%0,%1}, [%2];" : "=l"(v0), "=l"(v1) : "l"(lines + threadIdx.x) : "memory");
        again = threadIdx.x % 8 == 7 && v1 != flag;
    } while (__any_sync(0xffffffff, again));
    out[threadIdx.x] = v0;
}
KERNEL spin_each(volatile int* const* flags, int peers, int epoch, int* out) {
    for (int p = 0; p < peers; ++p)
        while (flags[p][0] < epoch) {
        }
    *out = 1;
}
KERNEL spin_both(volatile int* a, volatile int* b, int epoch, int* out) {
    while (*a < epoch || *b < epoch) {
    }
    *out = 1;
}
KERNEL spin_thread(volatile int* flags, int epoch, int* out) {
    if (threadIdx.x < 8)
        while (flags[threadIdx.x] < epoch) {
        }
    __syncthreads();
    out[threadIdx.x] = 1;
}
KERNEL spin_persistent(const int* flag, int rounds, int* data) {
    for (int round = 1; round <= rounds; ++round) {
        if (threadIdx.x == 0)
            while (acquire(flag) < round) {
            }
        __syncthreads();
        data[threadIdx.x] += round;
        __syncthreads();
    }
}
KERNEL spin_generic(cuda::atomic<int, cuda::thread_scope_system>* flag, int* out) {
    while (flag->load(cuda::memory_order_acquire) == 0) {
    }
    *out = 1;
}
// Whoever reads waits for those who write, and then tries to be counted.
KERNEL spin_shared(int* lock, int* out) {
    for (;;) {
        const int seen = relaxed(lock);
        if (seen >= 0 && atomicCAS(lock, seen, seen + 1) == seen) break;
    }
    *out = 1;
}
KERNEL spin_wait(cuda::atomic<int, cuda::thread_scope_device>* flag, int* out) {
    flag->wait(0, cuda::memory_order_acquire);
    *out = 1;
}
KERNEL grid_barrier(int* data) {
    data[threadIdx.x] += 1;
    cooperative_groups::this_grid().sync();
    data[threadIdx.x + 1] += 1;
}

// --- No waits ---
KERNEL no_sum(const int* data, int n, int* out) {
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) sum += data[i];
    out[threadIdx.x] = sum;
}
KERNEL no_list(const volatile unsigned long long* head, unsigned long long* out) {
    unsigned long long p = *head, count = 0;
    while (p) {
        p = *reinterpret_cast<const volatile unsigned long long*>(p);
        ++count;
    }
    *out = count;
}
KERNEL no_search(const volatile int* data, int wanted, int* out) {
    int i = 0;
    while (data[i] != wanted) ++i;
    *out = i;
}
KERNEL no_retry(double* sum, double value) {
    auto* word = reinterpret_cast<unsigned long long*>(sum);
    unsigned long long old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __double_as_longlong(value * __longlong_as_double(assumed)));
    } while (assumed != old);
}
KERNEL no_least(int* word, int value) {
    int seen;
    do {
        seen = relaxed(word);
    } while (seen > value && atomicCAS(word, seen, value) != seen);
}
KERNEL no_counted(volatile int* flag, int n, int* out) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += *flag;
    *out = sum;
}
KERNEL no_work(volatile int* stop, int* data) {
    while (*stop == 0) data[threadIdx.x] += 1;
}
KERNEL no_queue(int* next, int n, int* data) {
    for (int i = atomicAdd(next, 1); i < n; i = atomicAdd(next, 1)) data[i] *= 2;
}
