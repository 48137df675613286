// How far the recording of this process is. Its parts ask before they do anything, on any thread, at every driver call.
//
// It goes one way: launches are measured → ending: none is any more → exiting: none is looked at, other calls still are → over.
#pragma once

#include <atomic>
#include <cstdint>

namespace snoopie {

class Recording {
  public:
    // From here on a child that fork makes can be distinguished from this process.
    Recording();

    // Whether anything is still recorded: not after the end, and not in a forked child.
    bool on() const { return !over_.load(std::memory_order_relaxed) && !forked_; }
    bool forked() const { return forked_; }

    // No more launches are measured. False if that was so already.
    bool end_launches() { return !ending_.exchange(true); }
    bool ending() const { return ending_; }

    // The program begins to exit: when, in the trace's time.
    void exit(uint64_t time) { exit_ns_ = time; }
    bool exiting() const { return exit_ns_ != 0; }
    uint64_t exit_ns() const { return exit_ns_; }

    // Nothing more is recorded. False if that was so already.
    bool end() { return !over_.exchange(true); }

  private:
    static bool forked_;  // asked at every driver call, so not by getpid

    std::atomic<bool> ending_{false};
    std::atomic<uint64_t> exit_ns_{0};
    std::atomic<bool> over_{false};
};

}  // namespace snoopie
