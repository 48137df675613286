// Threads as the trace names them.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace snoopie {

// The calling thread, as the operating system numbers it.
inline uint32_t thread_id() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

}  // namespace snoopie
