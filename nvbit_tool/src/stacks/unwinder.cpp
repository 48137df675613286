#include "stacks/unwinder.h"

#include <unwind.h>

#include <cstring>

namespace snoopie {

namespace {

constexpr uint64_t kMix = 0x9E3779B97F4A7C15u;

uint64_t load(uint64_t address) {
    uint64_t value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}

bool still_holds(const Walk& walk, const FrameRegisters& from) {
    if (walk.from.pc != from.pc || walk.from.sp != from.sp || (walk.by_fp && walk.from.fp != from.fp)) return false;
    for (const Walk::Read& read : walk.reads)
        if (load(read.address) != read.value) return false;
    return true;
}

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
    Walk& walk = *static_cast<Walk*>(data);
    // First come the frames of the collector, which lie below.
    if (walk.addresses.empty() && _Unwind_GetCFA(context) < walk.from.sp) return _URC_NO_REASON;
    int interrupted = 0;
    const uint64_t pc = _Unwind_GetIPInfo(context, &interrupted);
    if (pc == 0 || walk.addresses.size() == Unwinder::kMostFrames) return _URC_END_OF_STACK;
    walk.addresses.push_back(pc + (interrupted ? 1 : 0));
    return _URC_NO_REASON;
}

void hash(Walk* walk) {
    walk->hash = walk->addresses.size();
    for (const uint64_t address : walk->addresses) {
        walk->hash = (walk->hash ^ address) * kMix;
        walk->hash ^= walk->hash >> 32;
    }
}

// Goes from frame to frame, and notes what it reads.
class Walker {
  public:
    Walker(FrameRegisters from, Walk* walk) : now_(from), walk_(walk) {}

    uint64_t pc() const { return now_.pc; }

    // To the caller; false if that cannot be right.
    bool step(const FrameRule& rule) {
        uint64_t cfa = (rule.base == FrameRule::Base::sp ? now_.sp : used_fp()) + static_cast<int64_t>(rule.base_offset);
        if (rule.base == FrameRule::Base::at_fp) cfa = read(cfa);
        // The stack grows down, and no frame is that large.
        if (cfa <= now_.sp || cfa - now_.sp > uint64_t{1} << 30 || cfa % sizeof(uint64_t) != 0) return false;
        if (rule.saved != FrameRule::Saved::kept) {
            const uint64_t from = rule.saved == FrameRule::Saved::at_cfa ? cfa : used_fp();
            fp_at_ = from + static_cast<int64_t>(rule.saved_offset);
            now_.fp = load(fp_at_);
            fp_noted_ = false;
        }
        now_.pc = read(cfa - sizeof(uint64_t));
        now_.sp = cfa;
        return true;
    }

  private:
    uint64_t read(uint64_t address) {
        const uint64_t value = load(address);
        walk_->reads.push_back({address, value});
        return value;
    }
    uint64_t used_fp() {
        if (fp_at_ == 0) walk_->by_fp = true;
        if (fp_at_ != 0 && !fp_noted_) walk_->reads.push_back({fp_at_, now_.fp});
        fp_noted_ = true;
        return now_.fp;
    }

    FrameRegisters now_;
    uint64_t fp_at_ = 0;  // where fp was saved, 0 = it still is in the register
    bool fp_noted_ = false;
    Walk* const walk_;
};

}  // namespace

FrameRule Unwinder::rule(uint64_t pc) {
    Kept& kept = kept_[(pc * kMix) >> 32 & (kKept - 1)];
    if (kept.pc == pc) return kept.rule;
    const FrameRule found = frame_rule(pc);
    if (stays_(pc)) kept = {pc, found};
    return found;
}

bool Unwinder::walk(FrameRegisters from, Walk* walk) {
    Walker walker(from, walk);
    while (walker.pc() != 0 && walk->addresses.size() < kMostFrames) {
        walk->addresses.push_back(walker.pc());
        const FrameRule next = rule(walker.pc());
        if (next.kind == FrameRule::Kind::unknown || next.kind == FrameRule::Kind::outermost) break;
        if (next.kind == FrameRule::Kind::other || !walker.step(next)) return false;
    }
    return true;
}

const Walk& Unwinder::unwind(FrameRegisters from) {
    Set& set = sets_[((from.sp ^ from.pc) * kMix) >> 32 & (kSets - 1)];
    for (const Walk& known : set.walks)
        if (still_holds(known, from)) return known;
    Walk& slot = set.walks[set.oldest];
    const auto begin = [&](Walk* walk) {
        walk->from = from;
        walk->by_fp = false;
        walk->reads.clear();
        walk->addresses.clear();
    };
    begin(&slot);
    if (walk(from, &slot)) {
        hash(&slot);
        set.oldest = (set.oldest + 1) % kWays;
        return slot;
    }
    slot.from = {};
    // What libgcc reads is not known: its walk is not kept.
    begin(&other_);
    _Unwind_Backtrace(visit, &other_);
    hash(&other_);
    return other_;
}

void Unwinder::forget() {
    kept_.fill({});
    for (Set& set : sets_)
        for (Walk& walk : set.walks) walk.from = {};
}

}  // namespace snoopie
