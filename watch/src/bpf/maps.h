// The memory that the program shares with the loader, and what it may have lost of it.
#pragma once

#include "../abi.h"

// Set by the loader before the program is loaded.
const volatile struct function functions[FUNCTIONS];
// Only processes in this cgroup or below it: its id, and how deep it lies. 0 = all processes.
const volatile __u64 cgroup = 0;
const volatile __u32 cgroup_level = 0;
// Whether single calls are told, and whether with the stacks of launches and copies.
const volatile __u8 tell_calls = 1;
const volatile __u8 every_stack = 0;
// Whether questions are counted too: only where their probes are never removed.
const volatile __u8 count_questions = 0;
// What the loader goes by (questions.c): how often programs have asked where they are, and when one last worked on a GPU that is not known.
__u64 questions = 0, lacked = 0;

// A call that has begun.
struct flight {
    __u64 start, address, other, bytes, stream, caller, out;
    __u32 grid[3], block[3], shared_memory;
    __s32 stack;
    __s16 gpu, destination, source;
    __u8 direction, was_live;
    struct live live;
};

// The contexts that a thread has made current, one on top of the other, and their GPUs: that of a context can be known where its handle is
// not.
#define DEPTH 8
struct thread {
    __u64 contexts[DEPTH];
    __s32 gpus[DEPTH];
    __u32 depth, zero;
};
struct context_of {
    __u64 context;
    __u32 pid, zero;
};

#define TABLE(name, kind, rows, key_type, value_type) \
    struct {                                          \
        __uint(type, kind);                           \
        __uint(max_entries, rows);                    \
        __type(key, key_type);                        \
        __type(value, value_type);                    \
    } name SEC(".maps")

TABLE(flights, BPF_MAP_TYPE_HASH, 16384, struct flight_of, struct flight);
TABLE(threads, BPF_MAP_TYPE_LRU_HASH, 16384, __u64, struct thread);
TABLE(contexts, BPF_MAP_TYPE_LRU_HASH, 16384, struct context_of, __s32);
TABLE(all_sums, BPF_MAP_TYPE_HASH, 65536, struct sums_of, struct sums);
TABLE(all_times, BPF_MAP_TYPE_HASH, 32768, struct times_of, struct times);
TABLE(all_errors, BPF_MAP_TYPE_HASH, 8192, struct errors_of, __u64);
TABLE(all_memory, BPF_MAP_TYPE_HASH, 8192, struct memory_of, struct memory);
TABLE(all_live, BPF_MAP_TYPE_HASH, 262144, struct live_of, struct live);
struct name {
    char text[NAME_BYTES];
};
TABLE(all_names, BPF_MAP_TYPE_HASH, 8192, struct name_of, struct name);
TABLE(names_made, BPF_MAP_TYPE_ARRAY, 1, __u32, __u64);
TABLE(processes, BPF_MAP_TYPE_HASH, 16384, __u32, __u8);
TABLE(losses, BPF_MAP_TYPE_PERCPU_ARRAY, LOSSES, __u32, __u64);

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, STACKS);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, STACK_DEPTH * sizeof(__u64));
} stacks SEC(".maps");

// The loader sets the size of the first.
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24);
} events SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 16);
} news SEC(".maps");

static __always_inline void count_lost(__u32 what) {
    __u64* lost = bpf_map_lookup_elem(&losses, &what);
    if (lost) *lost += 1;
}

static __always_inline void tell_news(__u32 what, __u32 pid) {
    struct news_of* one = bpf_ringbuf_reserve(&news, sizeof(*one), 0);
    if (!one) {
        count_lost(LOST_NEWS);
        return;
    }
    one->news = what;
    one->pid = pid;
    one->time = bpf_ktime_get_ns();
    one->uid = (__u32)bpf_get_current_uid_gid();
    one->zero = 0;
    bpf_get_current_comm(one->program, sizeof(one->program));
    bpf_ringbuf_submit(one, 0);
}
