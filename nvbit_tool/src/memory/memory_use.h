// How much memory of each GPU is in use, sampled by a thread that makes no call of the CUDA driver: such a call could wait for a lock that
// the application holds.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/owners.h"
#include "trace/trace_writer.h"

namespace snoopie {

// Of a GPU, -1 where it is not known.
struct UsedBytes {
    int64_t by_all = -1;
    int64_t by_this_process = -1;
};

// What pools of this process on a GPU hold, and what of it is handed out; -1 where it is not known. Another thread keeps it up to date.
struct PoolBytes {
    std::atomic<int64_t> reserved{0};
    std::atomic<int64_t> used{0};
};

class MemoryUse {
  public:
    using Ask = std::function<UsedBytes(size_t gpu)>;

    // Takes the first sample, then one every kMilliseconds. `on_thread` is called once on the thread.
    MemoryUse(TraceWriter* writer, size_t gpus, Ask ask, void (*on_thread)());
    ~MemoryUse() { stop(); }

    // By GPU; for whoever asks the driver about pools.
    PoolBytes* pools() { return pools_.data(); }

    // Takes the last sample and ends the thread.
    void stop();

    static constexpr int kMilliseconds = 100;
    // What stays the same is written this seldom.
    static constexpr int kUnchangedMilliseconds = 1000;

  private:
    void run(void (*on_thread)());
    // Writes what has changed; `all`: whether it has or not.
    void sample(bool all);

    struct Last {
        MemoryUseRow row;
        std::chrono::steady_clock::time_point written;
    };

    TraceWriter* const writer_;
    const Ask ask_;
    std::array<PoolBytes, kMaxGpus> pools_;
    std::vector<Last> last_;

    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace snoopie
