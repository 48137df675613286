#include "calls/call_totals.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/signals.h"
#include "base/thread_id.h"

namespace snoopie {

namespace {

constexpr size_t kEventsAtOnce = 1024;

struct Begun {
    uint32_t call;
    uint32_t kernel;  // string
    uint8_t gpu;
    Copied copied;
    uint64_t time;  // host time, where each call is written
    uint64_t clock;
};

// The calls of this thread that have begun and not returned; deeper ones are not counted. All of it is of trivial types, because the driver
// is also called by a thread that has destroyed its other variables.
constexpr int kDeepest = 16;
thread_local Begun begun[kDeepest];
thread_local int depth = 0;
thread_local Copied next_copied;

// Since the rows that were written last.
struct Sum {
    uint32_t call = 0;  // string, as is the kernel
    uint32_t kernel = 0;
    uint8_t gpu = kOwnerUnknown;
    Direction direction = Direction::none;
    uint64_t calls = 0;
    uint64_t errors = 0;
    uint64_t total = 0;
    uint64_t least = ~uint64_t{0};
    uint64_t most = 0;
    uint64_t bytes = 0;
    struct Times* times = nullptr;
};

struct Times {
    uint32_t call = 0;
    uint8_t gpu = kOwnerUnknown;
    bool changed = false;
    std::array<uint64_t, 64> calls{};  // by log2 of their nanoseconds
};

uint8_t log2_of(uint64_t ns) { return static_cast<uint8_t>(63 - __builtin_clzll(ns | 1)); }

struct Rows {
    std::vector<CallTotalRow> totals;
    std::vector<CallTimeRow> times;
    std::vector<CallErrorRow> errors;  // without the code's name
    std::vector<CallRow> events;       // without ids
};

}  // namespace

// The sums of one thread.
class CallTotals::Thread {
  public:
    const uint32_t id = thread_id();
    std::atomic<bool> over{false};  // nothing more will come

    uint8_t gpu(const void* context, uint64_t generation, const CallLookup& lookup) {
        forget_before(generation);
        const auto [found, is_new] = gpus_.try_emplace(context, kOwnerUnknown);
        if (is_new) found->second = lookup.gpu(context);
        return found->second;
    }

    uint32_t kernel(const void* context, const void* function, const CallLookup& lookup, TraceWriter* writer) {
        const auto [found, is_new] = kernels_.try_emplace({context, function}, 0);
        if (is_new) found->second = writer->intern(lookup.kernel(context, function));
        return found->second;
    }

    // Returns single calls that are too many to keep.
    std::vector<CallRow> add(const Begun& call, const char* name, uint64_t duration, const CallEnd& end, bool as_event,
                             TraceWriter* writer) {
        const uint64_t bytes = end.failed ? 0 : call.copied.bytes + end.bytes;
        std::vector<CallRow> full;
        const std::unique_lock lock(mutex_);
        changed_ = true;
        Sum& sum = sums_[{uint64_t{call.call} << 32 | call.kernel,
                          static_cast<uint16_t>(call.gpu << 8 | static_cast<int>(call.copied.direction))}];
        if (!sum.times) {
            sum.call = writer->intern(name);
            sum.kernel = call.kernel;
            sum.gpu = call.gpu;
            sum.direction = call.copied.direction;
            sum.times = &times_[{call.call, call.gpu}];
            sum.times->call = sum.call;
            sum.times->gpu = call.gpu;
        }
        ++sum.calls;
        sum.errors += end.failed;
        sum.total += duration;
        sum.least = std::min(sum.least, duration);
        sum.most = std::max(sum.most, duration);
        sum.bytes += bytes;
        ++sum.times->calls[log2_of(duration)];
        sum.times->changed = true;
        if (end.failed) ++errors_[{sum.call, call.gpu, end.code}];
        if (!as_event) return full;
        events_.push_back({0, sum.call, call.kernel, id, call.gpu, static_cast<u1>(call.copied.direction), call.time, call.time + duration,
                           end.code, bytes});
        if (events_.size() >= kEventsAtOnce) full.swap(events_);
        return full;
    }

    // Moves what has come together to `rows`.
    void take(uint64_t now, Rows* rows) {
        const std::unique_lock lock(mutex_);
        if (!std::exchange(changed_, false)) return;
        for (auto& [key, sum] : sums_) {
            if (sum.calls == 0) continue;
            rows->totals.push_back({now, sum.call, sum.kernel, id, sum.gpu, static_cast<u1>(sum.direction), sum.calls, sum.errors,
                                    sum.total, sum.least, sum.most, sum.bytes});
            sum.calls = sum.errors = sum.total = sum.most = sum.bytes = 0;
            sum.least = ~uint64_t{0};
        }
        for (auto& [key, times] : times_) {
            if (!std::exchange(times.changed, false)) continue;
            for (u1 log2 = 0; log2 < times.calls.size(); ++log2)
                if (const uint64_t calls = std::exchange(times.calls[log2], 0))
                    rows->times.push_back({times.call, id, times.gpu, log2, calls});
        }
        for (const auto& [key, calls] : errors_) {
            const auto& [call, gpu, code] = key;
            rows->errors.push_back({call, id, gpu, code, 0, calls});
        }
        errors_.clear();
        rows->events.insert(rows->events.end(), events_.begin(), events_.end());
        events_.clear();
    }

  private:
    struct Hash {
        template <class A, class B>
        size_t operator()(const std::pair<A, B>& key) const {
            return std::hash<A>()(key.first) * 0x9E3779B97F4A7C15u + std::hash<B>()(key.second);
        }
    };

    void forget_before(uint64_t generation) {
        if (generation_ == generation) return;
        generation_ = generation;
        gpus_.clear();
        kernels_.clear();
    }

    // Of the thread alone.
    uint64_t generation_ = 0;
    std::unordered_map<const void*, uint8_t> gpus_;
    std::unordered_map<std::pair<const void*, const void*>, uint32_t, Hash> kernels_;

    std::mutex mutex_;
    bool changed_ = false;
    // By call and kernel, GPU and direction; by call and GPU. Entries stay, so that a name is looked up once.
    std::unordered_map<std::pair<uint64_t, uint16_t>, Sum, Hash> sums_;
    std::unordered_map<std::pair<uint32_t, uint8_t>, Times, Hash> times_;
    std::map<std::tuple<uint32_t, uint8_t, int32_t>, uint64_t> errors_;
    std::vector<CallRow> events_;
};

namespace {

// Which sums are the calling thread's. The number tells apart objects that succeed each other in one place.
thread_local uint64_t joined = 0;
thread_local void* own_sums = nullptr;
thread_local bool ending = false;
std::atomic<uint64_t> objects{0};

}  // namespace

// Ends with the thread.
class CallTotals::Membership {
  public:
    void join(std::shared_ptr<Thread> thread) {
        leave();
        thread_ = std::move(thread);
    }
    ~Membership() {
        leave();
        ending = true;
        own_sums = nullptr;
    }

  private:
    void leave() {
        if (thread_) thread_->over.store(true, std::memory_order_release);
    }
    std::shared_ptr<Thread> thread_;
};

CallTotals::CallTotals(TraceWriter* writer, bool events, CallLookup lookup, void (*on_thread)())
    : writer_(writer), events_(events), lookup_(std::move(lookup)), on_thread_(on_thread), number_(++objects) {
    thread_ = std::thread([this] { run(); });
}

uint64_t CallTotals::clock() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

void CallTotals::will_copy(Copied copied) { next_copied = copied; }

CallTotals::Thread* CallTotals::mine() {
    if (joined == number_ && own_sums) return static_cast<Thread*>(own_sums);
    if (ending) return nullptr;
    thread_local Membership membership;
    auto thread = std::make_shared<Thread>();
    {
        const std::unique_lock lock(threads_mutex_);
        threads_.push_back(thread);
    }
    own_sums = thread.get();
    joined = number_;
    membership.join(std::move(thread));
    return static_cast<Thread*>(own_sums);
}

void CallTotals::begins(uint32_t call, const void* context, const void* function) {
    const Copied copied = std::exchange(next_copied, {});
    if (depth == kDeepest) return;
    Begun& own = begun[depth++];
    own = {call, 0, kOwnerUnknown, copied, 0, 0};
    if (Thread* const thread = mine()) {
        if (context) own.gpu = thread->gpu(context, generation_.load(std::memory_order_relaxed), lookup_);
        if (function) own.kernel = thread->kernel(context, function, lookup_, writer_);
    } else {
        if (context) own.gpu = lookup_.gpu(context);
        if (function) own.kernel = writer_->intern(lookup_.kernel(context, function));
    }
    if (events_) own.time = now_ns();
    own.clock = clock();
}

void CallTotals::returns(uint64_t clock, uint32_t call, const char* name, const CallEnd& end) {
    // What began inside it and did not return was left by a jump.
    int place = depth - 1;
    while (place >= 0 && begun[place].call != call) --place;
    if (place < 0) return;
    depth = place;
    const Begun own = begun[place];
    const uint64_t duration = clock > own.clock ? clock - own.clock : 0;
    std::vector<CallRow> full;
    if (Thread* const thread = mine()) {
        full = thread->add(own, name, duration, end, events_, writer_);
    } else {
        const auto late = std::make_shared<Thread>();
        late->over = true;
        late->add(own, name, duration, end, events_, writer_);
        const std::unique_lock lock(threads_mutex_);
        threads_.push_back(late);
    }
    if (full.empty()) return;
    write(full);
    writer_->wait_for_room();
}

void CallTotals::write(const std::vector<CallRow>& events) {
    std::vector<CallRow> rows = events;
    const std::unique_lock lock(events_mutex_);
    for (CallRow& row : rows) row.id = ++last_event_;
    writer_->append(rows);
}

void CallTotals::flush() {
    std::vector<std::shared_ptr<Thread>> threads;
    {
        const std::unique_lock lock(threads_mutex_);
        threads = threads_;
    }
    Rows rows;
    std::vector<std::shared_ptr<Thread>> over;
    const uint64_t now = now_ns();
    for (const auto& thread : threads) {
        // Before its sums are taken: they are then its last.
        if (thread->over.load(std::memory_order_acquire)) over.push_back(thread);
        thread->take(now, &rows);
    }
    for (CallErrorRow& row : rows.errors) row.name = writer_->intern(lookup_.error(row.code));
    writer_->append(rows.totals);
    writer_->append(rows.times);
    writer_->append(rows.errors);
    write(rows.events);
    // Some may be gone already: two threads can be here, at the program's exit.
    const auto is_over = [&](const auto& thread) { return std::find(over.begin(), over.end(), thread) != over.end(); };
    const std::unique_lock lock(threads_mutex_);
    threads_.erase(std::remove_if(threads_.begin(), threads_.end(), is_over), threads_.end());
}

void CallTotals::stop() {
    {
        const std::unique_lock lock(mutex_);
        if (stopping_) return;
        stopping_ = true;
        wake_.notify_one();
    }
    thread_.join();
    flush();
}

void CallTotals::run() {
    // The application's signals are not for this thread.
    block_all_signals();
    if (on_thread_) on_thread_();
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(kBeatMilliseconds), [this] { return stopping_; })) {
        lock.unlock();
        writer_->guard([this] { flush(); });
        lock.lock();
    }
}

}  // namespace snoopie
