// What threads the process may start, as where a user or a container may have no more: THREAD_REFUSED says which one is refused, and
// THREADS_AT_ONCE how many there may be at a time.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

std::atomic<int> alive{0};

struct Start {
    void* (*run)(void*);
    void* argument;
};

void* run_counted(void* given) {
    auto* const start = static_cast<Start*>(given);
    const Start copy = *start;
    delete start;
    void* const result = copy.run(copy.argument);
    --alive;
    return result;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
    static std::atomic<int> started{0};
    static const auto next = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    const char* const refused = std::getenv("THREAD_REFUSED");
    if (refused && ++started == std::atoi(refused)) return EAGAIN;
    const char* const most = std::getenv("THREADS_AT_ONCE");
    if (!most) return next(thread, attributes, run, argument);
    if (++alive > std::atoi(most)) {
        --alive;
        return EAGAIN;
    }
    return next(thread, attributes, run_counted, new Start{run, argument});
}
