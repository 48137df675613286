// Which GPU a thread's calls are for.
#pragma once

#include "maps.h"

static __always_inline __s32 gpu_of_context(__u32 pid, __u64 context) {
    struct context_of key = {.context = context, .pid = pid};
    __s32* gpu = bpf_map_lookup_elem(&contexts, &key);
    return gpu ? *gpu : NOT_KNOWN;
}

static __always_inline __u64 top_of(const struct thread* thread) { return thread->contexts[thread->depth & (DEPTH - 1)]; }

// The thread's GPU, and its context into `context`.
static __always_inline __s32 gpu_of_thread(__u64 id, __u64* context) {
    struct thread* thread = bpf_map_lookup_elem(&threads, &id);
    if (!thread) return NOT_KNOWN;
    *context = top_of(thread);
    // A context can be known only later.
    if (thread->gpu == NOT_KNOWN && *context) thread->gpu = gpu_of_context(id >> 32, *context);
    return thread->gpu;
}

static __always_inline void learn_context(__u32 pid, __u64 context, __s32 gpu) {
    struct context_of key = {.context = context, .pid = pid};
    if (context) bpf_map_update_elem(&contexts, &key, &gpu, BPF_ANY);
}

// What a call that succeeded says of the thread's contexts. `context` is that of the call, `gpu` the device that it named.
static __always_inline void follow_context(__u32 kind, __u64 id, __u64 context, __s32 gpu) {
    struct thread none = {.gpu = NOT_KNOWN};
    struct thread* thread = bpf_map_lookup_elem(&threads, &id);
    if (!thread) {
        bpf_map_update_elem(&threads, &id, &none, BPF_NOEXIST);
        thread = bpf_map_lookup_elem(&threads, &id);
        if (!thread) return;
    }
    switch (kind) {
        case CONTEXT_FOUND:
            learn_context(id >> 32, context, gpu);
            return;
        case DEVICE_GOT:
            // Of a context that was named, or of the current one.
            if (context) {
                learn_context(id >> 32, context, gpu);
            } else {
                learn_context(id >> 32, top_of(thread), gpu);
                thread->gpu = gpu;
            }
            return;
        case CONTEXT_MADE:
            learn_context(id >> 32, context, gpu);
            thread->depth += 1;
            break;
        case CONTEXT_PUSHED:
            thread->depth += 1;
            break;
        case CONTEXT_POPPED:
            thread->depth -= 1;
            context = top_of(thread);
            break;
        case CONTEXT_GOT:
            if (context == top_of(thread)) return;
            break;
    }
    thread->contexts[thread->depth & (DEPTH - 1)] = context;
    thread->gpu = context ? gpu_of_context(id >> 32, context) : NOT_KNOWN;
}
