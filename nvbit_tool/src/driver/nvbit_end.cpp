#include "driver/nvbit_end.h"

namespace snoopie {

namespace {

std::atomic<bool> told{false};
std::atomic<void (*)(const char*)> listener{nullptr};

}  // namespace

std::atomic<const char*> nvbit_end_reason{nullptr};

std::atomic<pthread_mutex_t*> nvbit_lock{nullptr};

const char* NvbitEnded::what() const noexcept { return nvbit_end_reason; }

NvbitThread& nvbit_thread() {
    static thread_local NvbitThread thread;
    return thread;
}

void when_nvbit_ends(void (*tell)(const char* why)) { listener = tell; }

bool in_nvbit() { return nvbit_thread().innermost != nullptr; }

void end_nvbit(const char* why) {
    NvbitCall* const call = nvbit_thread().innermost;
    if (!call) return;
    const char* none = nullptr;
    nvbit_end_reason.compare_exchange_strong(none, why);
    while (NvbitThread::locks() > call->locks_) pthread_mutex_unlock(nvbit_lock);
    _longjmp(call->place, 1);
}

void NvbitCall::left_nvbit() {
    if (told.exchange(true)) return;
    if (void (*const tell)(const char*) = listener) tell(nvbit_end_reason);
}

}  // namespace snoopie
