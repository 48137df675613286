// Whether the program wants to be recorded just now, by its own calls. Known from the first of them on, before anything is recorded.
#pragma once

#include <atomic>

namespace snoopie {

class Wanted {
  public:
    // snoopie.start and stop.
    void by_program(bool on) {
        program_ = on;
        either_ = on;
    }
    // cudaProfilerStart and Stop.
    void by_profiler(bool on) { either_ = on; }

    // Not stopped by the program.
    bool unless_stopped() const { return program_.load(std::memory_order_relaxed); }
    // Started by either.
    bool once_started() const { return either_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> program_{true};
    std::atomic<bool> either_{false};
};

// The process's own.
inline Wanted& wanted() {
    static Wanted only;
    return only;
}

}  // namespace snoopie
