// Names of kernels, by the handles that launches have.
#pragma once

#include "maps.h"

// The value that a new row has before its name is read: more than a program's stack can hold.
static const struct name no_name = {};

static __always_inline void learn_name(__u32 pid, __u64 function, __u64 text) {
    struct name_of key = {.function = function, .pid = pid};
    struct name* known = bpf_map_lookup_elem(&all_names, &key);
    if (!known) {
        bpf_map_update_elem(&all_names, &key, &no_name, BPF_NOEXIST);
        known = bpf_map_lookup_elem(&all_names, &key);
    }
    if (!known) {
        count_lost(LOST_NAMES);
        return;
    }
    bpf_probe_read_user_str(known->text, sizeof(known->text), (const void*)text);
    __u32 zero = 0;
    __u64* made = bpf_map_lookup_elem(&names_made, &zero);
    if (made) __sync_fetch_and_add(made, 1);
}

static __always_inline void learn_alias(__u32 pid, __u64 function, __u64 other) {
    struct name_of key = {.function = other, .pid = pid};
    struct name* known = bpf_map_lookup_elem(&all_names, &key);
    if (!known) return;
    key.function = function;
    if (bpf_map_update_elem(&all_names, &key, known, BPF_ANY)) count_lost(LOST_NAMES);
    __u32 zero = 0;
    __u64* made = bpf_map_lookup_elem(&names_made, &zero);
    if (made) __sync_fetch_and_add(made, 1);
}
