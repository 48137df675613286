// Preloaded in front of the clean recording: THREAD_REFUSED says which of its threads is refused, as where a user may have no more, and
// ALLOCATION_REFUSED which of what these allocate; "7:on" that one and all that follow.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

thread_local bool of_recorder = false;

bool is_recorder(const void* caller) {
    Dl_info info{};
    return dladdr(caller, &info) && info.dli_fname && std::strstr(info.dli_fname, "snoopie_times");
}

bool refuse(const char* variable, std::atomic<long>* asked) {
    const char* const given = std::getenv(variable);
    if (!given) return false;
    const long number = ++*asked, first = std::atol(given);
    return number == first || (number > first && std::strstr(given, ":on"));
}

struct Start {
    void* (*run)(void*);
    void* argument;
};

void* run_marked(void* given) {
    auto* const start = static_cast<Start*>(given);
    const Start copy = *start;
    std::free(start);
    of_recorder = true;
    return copy.run(copy.argument);
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t size);

void* malloc(size_t size) {
    static std::atomic<long> asked{0};
    if (of_recorder && refuse("ALLOCATION_REFUSED", &asked)) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_malloc(size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
    static const auto next = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    static std::atomic<long> asked{0};
    if (!is_recorder(__builtin_return_address(0))) return next(thread, attributes, run, argument);
    if (refuse("THREAD_REFUSED", &asked)) return EAGAIN;
    auto* const start = static_cast<Start*>(std::malloc(sizeof(Start)));
    *start = {run, argument};
    return next(thread, attributes, run_marked, start);
}
}
