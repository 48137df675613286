// Threads as the trace names them.
#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace snoopie {

// The calling thread, as the operating system numbers it. Asked for at each launch, so the system is asked once; the child of a fork has
// another number.
inline uint32_t thread_id() {
    static thread_local uint32_t id = 0;
    static const int forgets = pthread_atfork(nullptr, nullptr, [] { id = 0; });
    if (id == 0 || forgets != 0) id = static_cast<uint32_t>(syscall(SYS_gettid));
    return id;
}

}  // namespace snoopie
