// A program that goes on for long: the same calls, round after round.
#pragma once

#include "driver.h"

// Four times so many rounds. After each quarter, when the trace has all of its launches, a line on stderr says what the process holds:
// rounds, bytes of the heap in use, bytes of memory, descriptors, and bytes of the trace.
void soak(long rounds, CUdeviceptr here, CUstream stream);
