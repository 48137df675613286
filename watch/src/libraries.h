// The driver's libraries of this machine, in whatever containers they are, and the probes on them.
#pragma once

#include <sys/types.h>

#include "abi.h"

struct watch_bpf;

struct choice {
    // Of these processes alone; none = of all.
    const pid_t* pids;
    int count;
    // Also functions that are only counted.
    int every;
    // Is told which processes have the driver, before they call it: soon they may be gone.
    void (*found)(pid_t);
};

#define LIBRARY "libcuda.so"

// Attaches to each libcuda.so.1 that a process has mapped, unless it was attached to before.
void attach_to_process(struct watch_bpf* program, const struct choice* choice, pid_t pid);

// The same for all processes, and for the driver of this machine, which those that come later will map.
void attach_to_all(struct watch_bpf* program, const struct choice* choice);

// Probes the questions of all these files, or no longer. While they are not probed, those of files that come are not either.
void attach_questions(struct watch_bpf* program);
void detach_questions(struct watch_bpf* program);

// A process was given an address of a function: probes it where it is not one of those that the library exports.
void attach_to_address(struct watch_bpf* program, const struct choice* choice, pid_t pid, __u64 address, const char* function);
