// What the structures that describe a copy say of it.
#pragma once

#include "maps.h"

enum memory_type { OF_HOST = 1, OF_DEVICE, OF_ARRAY, UNIFIED };

// An end, of which the address follows from its type.
static __always_inline __u64 end_of(__u32 type, __u64 host, __u64 device, __s16* whose) {
    if (type == OF_HOST) {
        *whose = ON_HOST;
        return host;
    }
    return type == OF_ARRAY ? 0 : device;
}

static __always_inline __u8 direction_of(__u32 from, __u32 to, __u8 otherwise) {
    // Of unified addresses, userspace knows more.
    if (from == UNIFIED || to == UNIFIED || otherwise == PEER) return otherwise;
    if (from == OF_HOST) return to == OF_HOST ? HOST_TO_HOST : HOST_TO_DEVICE;
    return to == OF_HOST ? DEVICE_TO_HOST : DEVICE_TO_DEVICE;
}

static __always_inline void describe_2d(struct flight* flight, __u64 description, __u8 otherwise) {
    __u64 of[16] = {};
    bpf_probe_read_user(of, sizeof(of), (const void*)description);
    flight->other = end_of((__u32)of[2], of[3], of[4], &flight->source);
    flight->address = end_of((__u32)of[9], of[10], of[11], &flight->destination);
    flight->bytes = of[14] * of[15];
    flight->direction = direction_of((__u32)of[2], (__u32)of[9], otherwise);
}

static __always_inline void describe_3d(struct flight* flight, __u64 description, __u8 otherwise) {
    __u64 of[25] = {};
    bpf_probe_read_user(of, sizeof(of), (const void*)description);
    flight->other = end_of((__u32)of[4], of[5], of[6], &flight->source);
    flight->address = end_of((__u32)of[15], of[16], of[17], &flight->destination);
    flight->bytes = of[22] * of[23] * of[24];
    flight->direction = direction_of((__u32)of[4], (__u32)of[15], otherwise);
}
