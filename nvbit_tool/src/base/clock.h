// Host time as in the trace.
#pragma once

#include <time.h>

#include <cstdint>

namespace snoopie {

// Nanoseconds since the Unix epoch.
inline uint64_t now_ns() {
    timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace snoopie
