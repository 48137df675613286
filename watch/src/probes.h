// Probes on functions of a file.
#pragma once

#include <sys/types.h>

#include "abi.h"

struct watch_bpf;

// Says before the programs are loaded how they will be attached.
void prepare_probes(struct watch_bpf* program, int together);

// Whether this kernel may attach to many functions at once.
int probes_together(void);

// Has the programs run at these places of a file, in one process or in all (-1); each is told its number. Returns -1 with errno.
int probe(struct watch_bpf* program, const char* path, pid_t pid, const __u64* offsets, const __u64* numbers, int count);

void detach_all(void);
