// Threads take turns at the code of a context. NVBit keeps its functions in tables that it writes while the driver loads code, under one
// lock, and reads in launches, under another: a thread that loads while another launches corrupts them. JAX compiles, loads and launches on
// many threads.
//
// A turn is taken before the driver takes its own locks and given back after it has released them, so that the two cannot wait for each
// other. Each context has its turn: a call that waits for one GPU keeps no other from being launched on.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace snoopie {

class CodeTurns {
  public:
    // Whose code a driver call can load, unload or launch.
    enum class Of : uint8_t { none, context, all };
    // By the call's name, so that those of later drivers are known too.
    static Of call(const char* name);

    explicit CodeTurns(std::chrono::milliseconds patience) : patience_(patience) {}

    // Waits until no other thread has a turn at it. A turn that does not come within the patience is gone without: its holder waits in the
    // driver for what this thread has yet to launch. Calls that the thread makes before it ends its turn are part of that.
    void begin(Of of, const void* context);
    void end();

  private:
    static constexpr size_t kContexts = 64;  // more share turns

    struct Turn {
        std::timed_mutex mutex;
        std::atomic<const void*> context{nullptr};
        std::atomic<bool> stuck{false};  // was waited for in vain: nobody waits again before it is given back
    };
    // Of the calling thread.
    struct Held {
        size_t depth = 0;
        uint64_t turns = 0;  // bits of turns_
    };
    static_assert(kContexts == 64, "a bit each");

    void take(size_t turn, Held* held);
    size_t turn_of(const void* context);

    const std::chrono::milliseconds patience_;
    std::array<Turn, kContexts> turns_;
    static thread_local Held held_;
};

}  // namespace snoopie
