// When questions are probed: the functions that only tell a program which context is current in a thread, or which GPU that is of.
#pragma once

#include "abi.h"

struct watch_bpf;

// Attaches or detaches their probes, as it is needed at this time (of the kernel part's clock). At the beginning they are attached.
void choose_questions(struct watch_bpf* program, __u64 now);
