// The raw stack of the calling thread: return addresses, innermost first.
//
// Every launch passes here, so a stack is not unwound by libgcc, which reads the unwind tables anew for every frame. The tables' answer for
// a return address never changes while the code stays where it is: it is kept, by return address, and the stack walked with what is kept.
// Nothing of a stack itself is remembered, so nothing can be out of date in it: not a slot that was overwritten, not a frame that alloca
// made larger. Only code that is unloaded has to be forgotten (`forget`). Where an answer is not of the simple kind, as at a signal's
// frame, libgcc walks the whole stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "frame_rule.h"

namespace snoopie {

// For one thread.
class Unwinder {
  public:
    static constexpr size_t kMostFrames = 256;

    // `stays(pc)`: whether code stays until `forget` is called, as that of modules does and code made at run time does not.
    explicit Unwinder(bool (*stays)(uint64_t pc)) : stays_(stays) {}

    // Fills `addresses` with at most kMostFrames return addresses, the first of them `from.pc`: a caller of the calling function, with its
    // stack pointer. A return address of a function that was interrupted by a signal is one more than the instruction's.
    size_t unwind(FrameRegisters from, uint64_t* addresses);

    // Code was unloaded.
    void forget() { kept_.fill({}); }

  private:
    struct Kept {
        uint64_t pc = 0;
        FrameRule rule;
    };
    static constexpr size_t kKept = 2048;  // a power of 2

    FrameRule rule(uint64_t pc);

    bool (*const stays_)(uint64_t pc);
    std::array<Kept, kKept> kept_{};
};

// The caller of the function in whose body it stands, which must not be inlined.
#define SNOOPIE_CALLER                                                                                   \
    (snoopie::FrameRegisters{reinterpret_cast<uint64_t>(__builtin_return_address(0)),                    \
                             reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 2 * sizeof(void*), \
                             *static_cast<uint64_t*>(__builtin_frame_address(0))})

}  // namespace snoopie
