// Of what the collector's own threads allocate, ALLOCATION_REFUSED says which one is refused, as where the memory of a process is limited;
// "7:on": that one and all that follow.
#include "memory.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

thread_local bool thread_is_the_collectors = false;

void* operator new(size_t size) {
    static std::atomic<long> asked{0};
    static const char* const refused = std::getenv("ALLOCATION_REFUSED");
    if (refused && thread_is_the_collectors) {
        const long number = ++asked, first = std::atol(refused);
        if (number == first || (number > first && std::strstr(refused, ":on"))) throw std::bad_alloc();
    }
    if (void* const place = std::malloc(size ? size : 1)) return place;
    throw std::bad_alloc();
}

void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size ? size : 1); }
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, size_t) noexcept { std::free(place); }
