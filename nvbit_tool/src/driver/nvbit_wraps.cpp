// What the linker sends here (--wrap) of NVBit's calls of the C library: so that NVBit, where it cannot go on, ends itself and not the
// program, and prints into stderr and not into the program's output.
#include <pthread.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "base/say.h"
#include "driver/nvbit_end.h"

extern "C" {

// NVBit itself, of which no header tells more than its lock, the only one that it has.
extern char nvbit[];
void _ZN5Nvbit4termEv();

[[noreturn]] void __real__exit(int status);
[[noreturn]] void __real_exit(int status);
[[noreturn]] void __real___assert_fail(const char* assertion, const char* file, unsigned line, const char* function);
int __real_atexit(void (*function)());
int __real_pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes);

}  // extern "C"

namespace snoopie {

namespace {

constexpr uintptr_t kMostBytesOfNvbit = 1024;

bool is_of_nvbit(const pthread_mutex_t* mutex) {
    return reinterpret_cast<uintptr_t>(mutex) - reinterpret_cast<uintptr_t>(nvbit) < kMostBytesOfNvbit;
}

void tell_of_end() {
    say("NVBit, which instruments kernels, could not go on and has ended the program; what it printed says why. The trace has what was "
        "recorded before: open it with --allow-truncated");
}

// While it is loaded it has /dev/null in the place of stdout, for its banner.
FILE* output_of_nvbit() { return in_nvbit() ? stderr : stdout; }

// At the program's end, when nothing is lost any more.
void end_of_nvbit() {
    when_nvbit_ends(nullptr);
    into_nvbit(_ZN5Nvbit4termEv);
}

}  // namespace

}  // namespace snoopie

extern "C" {

[[noreturn]] void __wrap__exit(int status) {
    snoopie::end_nvbit();
    snoopie::tell_of_end();
    __real__exit(status);
}

[[noreturn]] void __wrap_exit(int status) {
    snoopie::end_nvbit();
    snoopie::tell_of_end();
    __real_exit(status);
}

[[noreturn]] void __wrap___assert_fail(const char* assertion, const char* file, unsigned line, const char* function) {
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
    snoopie::end_nvbit();
    __real___assert_fail(assertion, file, line, function);
}

int __wrap_atexit(void (*function)()) { return __real_atexit(function == _ZN5Nvbit4termEv ? snoopie::end_of_nvbit : function); }

int __wrap_pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
    if (snoopie::is_of_nvbit(mutex)) snoopie::nvbit_lock = mutex;
    return __real_pthread_mutex_init(mutex, attributes);
}

__attribute__((format(printf, 1, 2))) int __wrap_printf(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int printed = std::vfprintf(snoopie::output_of_nvbit(), format, arguments);
    va_end(arguments);
    return printed;
}

int __wrap_puts(const char* text) { return std::fprintf(snoopie::output_of_nvbit(), "%s\n", text); }
int __wrap_putchar(int letter) { return std::fputc(letter, snoopie::output_of_nvbit()); }

}  // extern "C"
