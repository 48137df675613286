// The program's driver calls: summed for each thread, and brought into the trace once a second.
//
// A call costs its thread two looks at the clock and one at its own sums. The lock of these is shared with the thread that writes alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "calls/copy_ends.h"
#include "trace/trace_writer.h"

namespace snoopie {

// Asked once a thread for what is new to it.
struct CallLookup {
    std::function<uint8_t(const void* context)> gpu;
    std::function<std::string(const void* context, const void* function)> kernel;
    std::function<std::string(int32_t code)> error;
};

// How a call ended.
struct CallEnd {
    int32_t code = 0;
    bool failed = false;
    uint64_t bytes = 0;  // set or allocated
};

class CallTotals {
  public:
    // `events`: each call is a row of its own as well. `on_thread` is called on the thread that writes.
    CallTotals(TraceWriter* writer, bool events, CallLookup lookup, void (*on_thread)() = nullptr);
    ~CallTotals() { stop(); }
    CallTotals(const CallTotals&) = delete;
    CallTotals& operator=(const CallTotals&) = delete;

    // On the thread that calls: at the end of a call's entry, and, with the clock as it stood then, at the beginning of its exit. `call`
    // numbers the driver's calls, which may begin inside one another; `function` is the kernel of a launch, else null. A call whose
    // beginning was not seen is none.
    void begins(uint32_t call, const void* context, const void* function);
    void returns(uint64_t clock, uint32_t call, const char* name, const CallEnd& end);
    // Nanoseconds of a clock that nobody sets.
    static uint64_t clock();

    // What the call copies that begins next on this thread.
    static void will_copy(Copied copied);

    // Contexts or their GPUs have changed: what the threads remember of them is forgotten.
    void forget() { generation_.fetch_add(1, std::memory_order_relaxed); }

    // Writes what has come together since the last time.
    void flush();
    // The same for the last time, and ends the thread.
    void stop();

    static constexpr int kBeatMilliseconds = 1000;

  private:
    class Thread;
    class Membership;

    // The calling thread's sums; null while it ends, when it has given them up.
    Thread* mine();
    void write(const std::vector<CallRow>& events);
    void run();

    TraceWriter* const writer_;
    const bool events_;
    const CallLookup lookup_;
    void (*const on_thread_)();
    const uint64_t number_;
    std::atomic<uint64_t> generation_{1};

    std::mutex threads_mutex_;
    std::vector<std::shared_ptr<Thread>> threads_;

    std::mutex events_mutex_;  // held while rows get their ids and go into the trace, so that both have one order
    uint32_t last_event_ = 0;

    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace snoopie
