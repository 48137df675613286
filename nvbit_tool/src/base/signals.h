// Signals that a thread is to be left alone with: those of the application are not for the tool's own threads.
#pragma once

#include <signal.h>

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

}  // namespace snoopie
