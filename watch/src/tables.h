// What is in the BPF program's tables, as frames.
#pragma once

struct watch_bpf;

// Sums of all processes, or of one, and what was lost.
void put_tables(struct watch_bpf* program, int pid);

// The memory that there is, of all processes.
void put_live(struct watch_bpf* program);

// Names of kernels, if there are new ones.
void put_names(struct watch_bpf* program);

// The addresses of a stack, if they were not put before.
void put_stack(struct watch_bpf* program, int number);

// What is in the tables of a process that has ended is no longer needed.
void forget(struct watch_bpf* program, int pid);
