// The arguments of a function at its first instruction, and its result after the last.
#pragma once

#include <asm/ptrace.h>

// Of which the first are in registers on every machine.
#define ARGUMENTS 9
#define EARLY_ARGUMENTS 6

#if defined(__TARGET_ARCH_x86)

typedef struct pt_regs registers;

static __always_inline void early_arguments(const registers* at, __u64* to) {
    to[0] = at->rdi;
    to[1] = at->rsi;
    to[2] = at->rdx;
    to[3] = at->rcx;
    to[4] = at->r8;
    to[5] = at->r9;
}

static __always_inline void late_arguments(const registers* at, __u64* to) {
    // Above the return address.
    bpf_probe_read_user(to + EARLY_ARGUMENTS, 8 * (ARGUMENTS - EARLY_ARGUMENTS), (const void*)(at->rsp + 8));
}

static __always_inline __u64 caller_of(const registers* at) {
    __u64 address = 0;
    bpf_probe_read_user(&address, sizeof(address), (const void*)at->rsp);
    return address;
}

static __always_inline __s32 result_of(const registers* at) { return (__s32)at->rax; }

#elif defined(__TARGET_ARCH_arm64)

typedef struct user_pt_regs registers;

static __always_inline void early_arguments(const registers* at, __u64* to) {
    to[0] = at->regs[0];
    to[1] = at->regs[1];
    to[2] = at->regs[2];
    to[3] = at->regs[3];
    to[4] = at->regs[4];
    to[5] = at->regs[5];
}

static __always_inline void late_arguments(const registers* at, __u64* to) {
    to[6] = at->regs[6];
    to[7] = at->regs[7];
    bpf_probe_read_user(to + 8, 8, (const void*)at->sp);
}

static __always_inline __u64 caller_of(const registers* at) { return at->regs[30]; }

static __always_inline __s32 result_of(const registers* at) { return (__s32)at->regs[0]; }

#endif
