// The raw stack of the calling thread: return addresses, innermost first. Every launch passes here, so it must cost next to nothing when a
// stack comes again, and libgcc, which reads the unwind tables anew for every frame, costs microseconds.
//
// Two things are kept. The tables' answer for a return address, which cannot change while the code stays where it is. And whole walks, each
// with every word of the stack that it read and went by: a walk is nothing but a function of the registers that it begins with and of the
// words that it reads, one after another, each at an address that those before it determine. Where the registers and, in that order, all
// words are what they were, walking again would give the same stack; so comparing them is no guess, whatever was in the slots meanwhile,
// and no address is read that a walk would not read. Saved frame pointers that no frame's address depended on are not among the words.
//
// Code that is unloaded has to be forgotten (`forget`). Where the tables' answer is not of the simple kind, as at a signal's frame, libgcc
// walks the whole stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stacks/frame_rule.h"

namespace snoopie {

struct FrameRegisters {
    uint64_t pc = 0;  // return address
    uint64_t sp = 0;  // stack pointer, as it is when the call has returned
    uint64_t fp = 0;
};

// The caller of the function in whose body it stands, which must not be inlined.
#define SNOOPIE_CALLER                                                                                   \
    (snoopie::FrameRegisters{reinterpret_cast<uint64_t>(__builtin_return_address(0)),                    \
                             reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 2 * sizeof(void*), \
                             *static_cast<uint64_t*>(__builtin_frame_address(0))})

struct Walk {
    struct Read {
        uint64_t address = 0;
        uint64_t value = 0;
    };

    FrameRegisters from;
    bool by_fp = false;               // it depends on from.fp
    std::vector<Read> reads;          // words of the stack, in the order of the walk
    std::vector<uint64_t> addresses;  // what it found
    uint64_t hash = 0;                // of these
};

// For one thread.
class Unwinder {
  public:
    static constexpr size_t kMostFrames = 256;

    // `stays(pc)`: whether code stays until `forget` is called, as that of modules does and code made at run time does not.
    explicit Unwinder(bool (*stays)(uint64_t pc)) : stays_(stays) {}

    // At most kMostFrames return addresses, the first of them `from.pc`, of the calling function or one that called it. A place where a
    // signal interrupted is one more than the instruction's. Valid until the next call.
    const Walk& unwind(FrameRegisters from);

    // Code was unloaded.
    void forget();

  private:
    struct Kept {
        uint64_t pc = 0;
        FrameRule rule;
    };
    static constexpr size_t kKept = 2048;  // powers of 2
    static constexpr size_t kSets = 64;
    static constexpr size_t kWays = 4;
    struct Set {
        std::array<Walk, kWays> walks;
        size_t oldest = 0;
    };

    FrameRule rule(uint64_t pc);
    // False if libgcc has to do it.
    bool walk(FrameRegisters from, Walk* walk);

    bool (*const stays_)(uint64_t pc);
    std::array<Kept, kKept> kept_{};
    std::array<Set, kSets> sets_{};
    Walk other_;
};

}  // namespace snoopie
