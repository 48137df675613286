// How to get from a frame of the stack to its caller's: what a module's unwind tables (.eh_frame) say of one return address.
#pragma once

#include <cstdint>

namespace snoopie {

// In the words of DWARF: CFA is the stack pointer of the caller after the call, below which the return address stands; fp is the frame
// pointer register, whatever the function keeps in it.
struct FrameRule {
    enum class Kind : uint8_t {
        unknown,    // no table has it
        outermost,  // the tables say that there is no caller
        plain,      // as the members below say
        other,      // what they cannot say, such as a signal's frame
    };
    enum class Base : uint8_t { sp, fp, at_fp };         // CFA = sp + n, fp + n, or the word at fp + n
    enum class Saved : uint8_t { kept, at_cfa, at_fp };  // the caller's fp is in the register, at CFA + m, or at fp + m

    Kind kind = Kind::unknown;
    Base base = Base::sp;
    Saved saved = Saved::kept;
    int32_t base_offset = 0;
    int32_t saved_offset = 0;
};

// The rule for a call that returns to `pc`.
FrameRule frame_rule(uint64_t pc);

}  // namespace snoopie
