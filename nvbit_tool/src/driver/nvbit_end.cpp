#include "driver/nvbit_end.h"

#include <atomic>

namespace snoopie {

namespace {

std::atomic<const char*> reason{nullptr};  // null: it goes on
std::atomic<bool> told{false};
std::atomic<void (*)(const char*)> listener{nullptr};

thread_local NvbitCall* innermost = nullptr;
// Entries into NVBit that this thread has not left, with those around code of the collector's.
thread_local int entries = 0;

}  // namespace

const char* NvbitEnded::what() const noexcept { return reason; }

bool nvbit_has_ended() { return reason.load(std::memory_order_acquire) != nullptr; }

void when_nvbit_ends(void (*tell)(const char* why)) { listener = tell; }

bool in_nvbit() { return innermost != nullptr; }

void end_nvbit(const char* why) {
    NvbitCall* const call = innermost;
    if (!call) return;
    const char* none = nullptr;
    reason.compare_exchange_strong(none, why);
    unlock_nvbit(call->locks_);
    _longjmp(call->place, 1);
}

NvbitCall::NvbitCall() : outer_(innermost), locks_(nvbit_locks()) {
    innermost = this;
    ++entries;
}

NvbitCall::~NvbitCall() {
    innermost = outer_;
    if (--entries > 0 || !nvbit_has_ended() || told.exchange(true)) return;
    if (void (*const tell)(const char*) = listener) tell(reason);
}

OutOfNvbit::OutOfNvbit() : outer_(innermost) { innermost = nullptr; }
OutOfNvbit::~OutOfNvbit() { innermost = outer_; }

}  // namespace snoopie
