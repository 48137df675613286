// NVBit ends the program where it cannot go on, and prints an error of its own to the program's output. The linker sends its calls here
// (--wrap), so that the user learns whose error that is. What is recorded by then is in the trace.
#include "base/say.h"

namespace {

void tell() {
    snoopie::say(
        "NVBit, which instruments kernels, could not go on and has ended the program; what it printed says why. The trace has what was "
        "recorded before: open it with --allow-truncated");
}

}  // namespace

extern "C" {

[[noreturn]] void __real__exit(int status);
[[noreturn]] void __real_exit(int status);

[[noreturn]] void __wrap__exit(int status) {
    tell();
    __real__exit(status);
}

[[noreturn]] void __wrap_exit(int status) {
    tell();
    __real_exit(status);
}

}  // extern "C"
