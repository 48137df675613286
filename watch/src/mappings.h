// Which processes map the driver's library, as the kernel tells it.
#pragma once

#include <sys/types.h>

// Returns -1 with errno where the kernel does not tell.
int begin_mappings(void);

// Calls `each` for every process that has mapped it since; returns whether some may have been missed.
int look_at_mappings(const char* library, void (*each)(pid_t));
