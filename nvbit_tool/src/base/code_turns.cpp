#include "base/code_turns.h"

#include <string_view>

namespace snoopie {

namespace {

bool begins(std::string_view name, std::string_view with) { return name.substr(0, with.size()) == with; }

}  // namespace

thread_local CodeTurns::Held CodeTurns::held_;

CodeTurns::Of CodeTurns::call(const char* name) {
    const std::string_view call = name ? name : "";
    // A library is loaded into every context, or into each when it is first asked for there. NVBit finds contexts in one table.
    for (const char* const all : {"cuLibraryLoad", "cuLibraryUnload", "cuCtxCreate", "cuCtxDestroy", "cuGreenCtxCreate",
                                  "cuGreenCtxDestroy", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxReset"})
        if (begins(call, all)) return Of::all;
    // Functions are loaded when they are first named, asked about or launched.
    if (begins(call, "cuLaunchHostFunc") || begins(call, "cuGraphics")) return Of::none;
    for (const char* const one : {"cuModule", "cuLibrary", "cuKernel", "cuFunc", "cuOccupancy", "cuGraph", "cuLaunch"})
        if (begins(call, one)) return Of::context;
    return Of::none;
}

size_t CodeTurns::turn_of(const void* context) {
    // Contexts lie at addresses whose low bits are the same.
    const size_t first = (reinterpret_cast<uintptr_t>(context) * 0x9e3779b97f4a7c15u) >> 58;
    for (size_t i = 0; i < kContexts; ++i) {
        const size_t turn = (first + i) % kContexts;
        const void* of = turns_[turn].context.load(std::memory_order_acquire);
        if (of == context || (!of && turns_[turn].context.compare_exchange_strong(of, context)) || of == context) return turn;
    }
    return first;
}

void CodeTurns::take(size_t turn, Held* held) {
    Turn& wanted = turns_[turn];
    if (!wanted.mutex.try_lock()) {
        if (wanted.stuck || !wanted.mutex.try_lock_for(patience_)) {
            wanted.stuck = true;
            return;
        }
    }
    held->turns |= uint64_t{1} << turn;
}

void CodeTurns::begin(Of of, const void* context) {
    Held& held = held_;
    if (held.depth++ > 0) return;
    if (of == Of::context) return take(turn_of(context), &held);
    // In one order, so that two threads do not each wait for what the other has.
    for (size_t turn = 0; turn < kContexts; ++turn) take(turn, &held);
}

void CodeTurns::end() {
    Held& held = held_;
    if (held.depth == 0 || --held.depth > 0) return;
    for (size_t turn = 0; held.turns != 0; ++turn) {
        const uint64_t bit = uint64_t{1} << turn;
        if (!(held.turns & bit)) continue;
        held.turns &= ~bit;
        turns_[turn].stuck = false;
        turns_[turn].mutex.unlock();
    }
}

}  // namespace snoopie
