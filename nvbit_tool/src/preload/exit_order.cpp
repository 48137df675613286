#include "preload/exit_order.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "libraries/next_function.h"

namespace {

using Function = void (*)(void*);
using Register = int (*)(Function, void*, void*);

// Null: nobody wants to know, or is told already.
std::atomic<void (*)()> at_driver_end{nullptr};

thread_local bool keeping = false;

// What is kept, the newest first. One thread loads the collector, once.
struct Kept {
    Function function;
    void* argument;
    Kept* older;
};
Kept* kept = nullptr;

Register next() {
    static const auto function = reinterpret_cast<Register>(snoopie::c_dlsym()(RTLD_NEXT, "__cxa_atexit"));
    return function;
}

struct Callers {
    uintptr_t code[2];
    bool driver = false;
};

bool holds(const dl_phdr_info& object, uintptr_t code) {
    return std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [&](const ElfW(Phdr) & part) {
        return part.p_type == PT_LOAD && code - object.dlpi_addr - part.p_vaddr < part.p_memsz;
    });
}

// Whether either is the driver's code. Every destructor of a static object comes by here, tens of thousands where a program has large
// libraries: dladdr would look for the nearest symbol among all of the library's each time.
bool is_driver(const void* caller, Function function) {
    Callers callers{{reinterpret_cast<uintptr_t>(caller), reinterpret_cast<uintptr_t>(function)}};
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* found) -> int {
            auto& one = *static_cast<Callers*>(found);
            const bool either = holds(*object, one.code[0]) || holds(*object, one.code[1]);
            one.driver = either && std::strstr(object->dlpi_name, "/libcuda.so");
            return one.driver;
        },
        &callers);
    return callers.driver;
}

// This library's first handler, and so the last to run: after those of the program and of the driver.
__attribute__((constructor(101))) void at_load() {
    next()(
        [](void*) {
            while (Kept* const newest = kept) {
                kept = newest->older;
                newest->function(newest->argument);
            }
        },
        nullptr, nullptr);
}

}  // namespace

namespace snoopie {

void before_driver_ends(void (*last)()) { at_driver_end = last; }

EndingLast::EndingLast() { keeping = true; }
EndingLast::~EndingLast() { keeping = false; }

}  // namespace snoopie

// What is registered for the exit runs in reverse order. Some drivers register their end in cuInit, others when they are loaded, before
// they call a tool; and the tool hears of neither, and then not before there is a context, when the program may have registered destructors
// that free memory. So the calls by which the driver registers are seen here, in the place of the C library's, each followed by another.
extern "C" int __cxa_atexit(Function function, void* argument, void* library) noexcept {
    // The last call of a function may return to that one's caller.
    const bool driver = is_driver(__builtin_return_address(0), function);
    if (keeping && !driver) {
        auto* const newest = static_cast<Kept*>(std::malloc(sizeof(Kept)));
        if (!newest) return -1;
        *newest = {function, argument, kept};
        kept = newest;
        return 0;
    }
    const int status = next()(function, argument, library);
    const auto tell = [](void*) {
        if (void (*const last)() = at_driver_end.exchange(nullptr)) last();
    };
    if (driver) next()(tell, nullptr, nullptr);
    return status;
}
