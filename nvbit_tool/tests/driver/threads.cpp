// Of the threads that the process starts, THREAD_REFUSED says which one is refused, as where a user or a container may have no more.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
    static std::atomic<int> started{0};
    const char* const refused = std::getenv("THREAD_REFUSED");
    if (refused && ++started == std::atoi(refused)) return EAGAIN;
    static const auto next = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return next(thread, attributes, run, argument);
}
