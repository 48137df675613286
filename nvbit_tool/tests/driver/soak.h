// A program that goes on for long: the same calls, round after round.
#pragma once

#include "driver.h"

// Four times so many rounds. After each quarter, when the trace has all of its launches, a line on stderr says what the process holds:
// rounds, bytes of the heap in use, bytes of memory, descriptors, and bytes of the trace.
void soak(long rounds, CUdeviceptr here, CUstream stream);

// So many graphs and streams, each launched once and ended. After each `together` of them it waits until the trace has their launches. A
// line on stderr says how many events of the driver the collector has made.
void come_and_go(long rounds, long together, CUdeviceptr here, CUstream stream);
