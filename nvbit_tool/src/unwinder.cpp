#include "unwinder.h"

#include <unwind.h>

namespace snoopie {

namespace {

struct Walk {
    uint64_t from;  // stack pointer of the first frame wanted
    bool begun;
    size_t count;
    uint64_t* addresses;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
    Walk& walk = *static_cast<Walk*>(data);
    walk.begun = walk.begun || _Unwind_GetCFA(context) >= walk.from;
    if (!walk.begun) return _URC_NO_REASON;
    int interrupted = 0;
    const uint64_t pc = _Unwind_GetIPInfo(context, &interrupted);
    if (pc == 0 || walk.count == Unwinder::kMostFrames) return _URC_END_OF_STACK;
    walk.addresses[walk.count++] = pc + (interrupted ? 1 : 0);
    return _URC_NO_REASON;
}

size_t by_libgcc(uint64_t from, uint64_t* addresses) {
    Walk walk{from, false, 0, addresses};
    _Unwind_Backtrace(visit, &walk);
    return walk.count;
}

}  // namespace

FrameRule Unwinder::rule(uint64_t pc) {
    Kept& kept = kept_[(pc * 0x9E3779B97F4A7C15u) >> 32 & (kKept - 1)];
    if (kept.pc == pc) return kept.rule;
    const FrameRule found = frame_rule(pc);
    if (stays_(pc)) kept = {pc, found};
    return found;
}

size_t Unwinder::unwind(FrameRegisters from, uint64_t* addresses) {
    FrameRegisters registers = from;
    size_t count = 0;
    while (registers.pc != 0 && count < kMostFrames) {
        addresses[count++] = registers.pc;
        const FrameRule next = rule(registers.pc);
        if (next.kind == FrameRule::Kind::unknown || next.kind == FrameRule::Kind::outermost) break;
        if (next.kind == FrameRule::Kind::other || !next.step(&registers)) return by_libgcc(from.sp, addresses);
    }
    return count;
}

}  // namespace snoopie
