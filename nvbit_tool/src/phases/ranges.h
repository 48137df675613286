// The ranges that a program names its phases by: which are open, on which thread, and what becomes of those that end.
//
// Ranges come from NVTX (nvtx.cpp) and from the program's own calls (region_calls.cpp), also before anything is recorded. A pushed one is
// of its thread and ends with the last pop; a started one is of the whole process and ends by its number, on any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace snoopie {

// A name of a range, or of a domain; its address stands for it as long as the process lives.
using Name = const std::string*;

struct Range {
    Name name = nullptr;
    Name domain = nullptr;  // null: the default one
    uint32_t thread = 0;    // that began it
    bool pushed = false;
    uint64_t start = 0;
    uint64_t end = 0;  // 0: it has not ended
};

struct Mark {
    Name text = nullptr;
    Name domain = nullptr;
    uint32_t thread = 0;
    uint64_t time = 0;
};

// An exception does not pass from one library into the other.
class RangeSink {
  public:
    virtual void ended(const Range& range) noexcept = 0;
    virtual void marked(const Mark& mark) noexcept = 0;

  protected:
    ~RangeSink() = default;
};

// Safe to call from any thread. What is beyond a limit is not recorded, but costs nothing else: pops still end the right ranges.
class Ranges {
  public:
    static constexpr size_t kMostNames = 1 << 16;    // distinct ones; the rest have one name together
    static constexpr size_t kMostText = 256;         // bytes of a name
    static constexpr size_t kMostNested = 1024;      // on a thread
    static constexpr size_t kMostThreads = 1 << 14;  // that have a range open
    static constexpr size_t kMostStarted = 1 << 16;  // open at once

    Ranges() = default;
    // The thread that destroys it is the last to have ranges open.
    ~Ranges();
    Ranges(const Ranges&) = delete;
    Ranges& operator=(const Ranges&) = delete;

    // The process's own. Never destroyed: programs end ranges while they end themselves.
    static Ranges& of_process();

    Name name(std::string_view text);

    // How many were open on the thread before it.
    int push(Name name, Name domain);
    // How many are open after it, -1 if none was.
    int pop(Name domain);
    // 0 if it is not followed.
    uint64_t start(Name name, Name domain);
    void end(uint64_t number);
    void mark(Name text, Name domain);

    // Who receives what ends from now on, under a lock; null: nobody. It must not call back.
    void send_to(RangeSink* sink);
    // Those that are open go to the sink as they are, and end in silence.
    void give_up_open();

    // From now on `watched_open` is the number of open ranges of this name: "NAME" in any domain or "NAME@DOMAIN".
    void watch(const std::string& name);
    bool watched_open() const { return watched_open_.load(std::memory_order_relaxed) > 0; }

    // Whether more names came than are kept.
    bool out_of_names();

    // Around a fork: no thread of the child is left that could release the lock.
    void before_fork() { mutex_.lock(); }
    void after_fork(bool in_child);

  private:
    struct Thread {
        std::vector<Range> open;
        size_t beyond = 0;  // pushes that were too many
    };

    bool is_watched(const Range& range) const;
    void begun(const Range& range);
    void ended(Range range);

    std::mutex mutex_;
    std::unordered_set<std::string> names_;
    bool out_of_names_ = false;
    std::unordered_set<Thread*> threads_;
    std::unordered_map<uint64_t, Range> started_;
    uint64_t last_started_ = 0;
    RangeSink* sink_ = nullptr;
    std::string watched_;
    std::atomic<int64_t> watched_open_{0};

    static thread_local Thread* own_;  // only while a range is open, so that nothing is left to destroy when the thread ends
};

}  // namespace snoopie
