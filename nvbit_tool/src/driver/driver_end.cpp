#include "driver/driver_end.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>

namespace {

using Register = int (*)(void (*)(void*), void*, void*);

// Null: the driver's registrations are not waited for.
std::atomic<void (*)()> at_driver_end{nullptr};

Register next() {
    static const auto function = reinterpret_cast<Register>(dlsym(RTLD_NEXT, "__cxa_atexit"));
    return function;
}

bool is_driver(const void* code) {
    Dl_info info{};
    return dladdr(code, &info) && info.dli_fname && std::strstr(info.dli_fname, "/libcuda.so");
}

}  // namespace

namespace snoopie {

void before_driver_ends(void (*last)()) { at_driver_end = last; }
void driver_started() { at_driver_end = nullptr; }

}  // namespace snoopie

// What is registered for the exit runs in reverse order. NVBit calls its tool in cuInit before the driver has registered its end, and then
// not before there is a context, when the program may have registered destructors that free memory. So the call by which the driver
// registers is seen here, in the place of the C library's, and followed by another.
extern "C" int __cxa_atexit(void (*function)(void*), void* argument, void* library) noexcept {
    const int status = next()(function, argument, library);
    void (*const last)() = at_driver_end;
    if (last && is_driver(__builtin_return_address(0)))
        next()([](void* call) { reinterpret_cast<void (*)()>(call)(); }, reinterpret_cast<void*>(last), nullptr);
    return status;
}
