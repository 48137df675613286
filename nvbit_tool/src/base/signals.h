// Signals that a thread is to be left alone with: those of the application are not for the tool's own threads.
#pragma once

#include <signal.h>
#include <time.h>

namespace snoopie {

inline sigset_t all_signals() {
    sigset_t all;
    sigfillset(&all);
    return all;
}

// For the rest of the calling thread's life, and for threads that it starts.
inline void block_all_signals() {
    const sigset_t all = all_signals();
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

// On the calling thread, while this lives.
class BlockedSignals {
  public:
    explicit BlockedSignals(const sigset_t& signals) { pthread_sigmask(SIG_BLOCK, &signals, &before_); }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

    // What was blocked before.
    const sigset_t& before() const { return before_; }

  private:
    sigset_t before_;
};

// While this lives, a file that the calling thread makes larger than the program may have any (ulimit -f) is an error of write() alone. The
// signal that comes with it would end the program.
class NoFileSizeSignal {
  public:
    NoFileSizeSignal() : was_pending_(pending()), blocked_(signal()) {}
    ~NoFileSizeSignal() {
        const sigset_t own = signal();
        const timespec now{};
        if (!was_pending_ && pending()) sigtimedwait(&own, nullptr, &now);
    }
    NoFileSizeSignal(const NoFileSizeSignal&) = delete;
    NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

  private:
    static sigset_t signal() {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGXFSZ);
        return signals;
    }
    // The program may block it itself.
    static bool pending() {
        sigset_t signals;
        return sigpending(&signals) == 0 && sigismember(&signals, SIGXFSZ) == 1;
    }

    const bool was_pending_;
    const BlockedSignals blocked_;
};

}  // namespace snoopie
