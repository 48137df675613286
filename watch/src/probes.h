// Probes on functions of a file.
#pragma once

#include <sys/types.h>

#include "abi.h"

struct watch_bpf;

// Probes that end together.
enum group { LASTING, QUESTIONS, GROUPS };

// Says before the programs are loaded how they will be attached.
void prepare_probes(struct watch_bpf* program, int together);

// Whether this kernel may attach to many functions at once.
int probes_together(void);

// Has the programs run at these places of a file, in one process or in all (-1); each is told its number. Returns -1 with errno.
int probe(struct watch_bpf* program, enum group group, const char* path, pid_t pid, const __u64* offsets, const __u64* numbers, int count);

// Ends the probes of a group. Calls that are under way then are forgotten.
void detach(struct watch_bpf* program, enum group group);
