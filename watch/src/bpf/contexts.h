// Which GPU a thread's calls are for.
#pragma once

#include "maps.h"

static __always_inline __s32 gpu_of_context(__u32 pid, __u64 context) {
    struct context_of key = {.context = context, .pid = pid};
    __s32* gpu = bpf_map_lookup_elem(&contexts, &key);
    return gpu ? *gpu : NOT_KNOWN;
}

static __always_inline __u32 top_of(const struct thread* thread) { return thread->depth & (DEPTH - 1); }

// The thread's GPU, and its context into `context`.
static __always_inline __s32 gpu_of_thread(__u64 id, __u64* context) {
    struct thread* thread = bpf_map_lookup_elem(&threads, &id);
    if (!thread) return NOT_KNOWN;
    __u32 top = top_of(thread);
    *context = thread->contexts[top];
    // A context can be known only later.
    if (thread->gpus[top] == NOT_KNOWN && *context) thread->gpus[top] = gpu_of_context(id >> 32, *context);
    return thread->gpus[top];
}

static __always_inline void learn_context(__u32 pid, __u64 context, __s32 gpu) {
    struct context_of key = {.context = context, .pid = pid};
    if (context) bpf_map_update_elem(&contexts, &key, &gpu, BPF_ANY);
}

static __always_inline void put_on_top(struct thread* thread, __u32 pid, __u64 context) {
    __u32 top = top_of(thread);
    thread->contexts[top] = context;
    thread->gpus[top] = context ? gpu_of_context(pid, context) : NOT_KNOWN;
}

// What a call that succeeded says of the thread's contexts. `context` is that of the call, `gpu` the device that it named.
static __always_inline void follow_context(__u32 kind, __u64 id, __u64 context, __s32 gpu) {
    __u32 pid = id >> 32;
    struct thread* thread = bpf_map_lookup_elem(&threads, &id);
    if (!thread) {
        struct thread none = {};
        for (int i = 0; i < DEPTH; ++i) none.gpus[i] = NOT_KNOWN;
        bpf_map_update_elem(&threads, &id, &none, BPF_NOEXIST);
        thread = bpf_map_lookup_elem(&threads, &id);
        if (!thread) return;
    }
    __u32 top = top_of(thread);
    switch (kind) {
        case CONTEXT_FOUND:
            learn_context(pid, context, gpu);
            return;
        case DEVICE_GOT:
            // Of a context that was named, or of the current one.
            if (context) {
                learn_context(pid, context, gpu);
            } else {
                learn_context(pid, thread->contexts[top], gpu);
                thread->gpus[top] = gpu;
            }
            return;
        case CONTEXT_MADE:
            learn_context(pid, context, gpu);
            thread->depth += 1;
            break;
        case CONTEXT_PUSHED:
            thread->depth += 1;
            break;
        case CONTEXT_POPPED:
            thread->depth -= 1;
            return;
        case CONTEXT_ENDED: {
            struct context_of key = {.context = context, .pid = pid};
            bpf_map_delete_elem(&contexts, &key);
            // Which is popped where it is current.
            if (context == thread->contexts[top]) thread->depth -= 1;
            return;
        }
        case CONTEXT_GOT:
            if (context == thread->contexts[top]) return;
            break;
    }
    put_on_top(thread, pid, context);
}

// A thread that has ended, or has become another program: the next of its number is somewhere else.
static __always_inline void forget_thread(void) {
    __u64 id = bpf_get_current_pid_tgid();
    bpf_map_delete_elem(&threads, &id);
}
