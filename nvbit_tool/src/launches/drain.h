// The thread that brings records and counts from the GPUs into the trace. It is the only one that waits for a GPU, and only for copies.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "launches/context.h"
#include "launches/store_sums.h"
#include "launches/wait_sums.h"
#include "trace/catalog.h"
#include "trace/record_writer.h"
#include "trace/trace_writer.h"

namespace snoopie {

class Drain {
  public:
    // Called on the thread when a launch in flight has counted nothing new for `patience`, once for each time; 0 s = never.
    using OnStall = std::function<void(const Context&, const Flight&, std::chrono::seconds)>;

    // A site of the launch was dead, and an access from it has left the GPU.
    using OnContradiction = std::function<void(const Context&, const Flight&, uint32_t site)>;

    using WhosePolled = std::function<Polled(uint64_t address)>;

    Drain(TraceWriter* writer, Catalog* catalog, void (*on_thread)(), std::chrono::seconds patience, OnStall on_stall,
          OnContradiction on_contradiction, WhosePolled whose);
    ~Drain() { stop(); }

    // A launch under way, what its warps wait for, and who has stored so far.
    struct Running {
        uint8_t gpu = 0;
        Flight flight;
        std::vector<Wait> waits;
    };
    struct Look {
        std::vector<Running> running;
        StoreSums stores;
    };
    // As the GPUs are now; none if the thread, which asks them, does not answer in time. Not on the thread itself.
    std::optional<Look> look(std::chrono::milliseconds patience);
    // On the thread itself.
    Look look_now();
    // The same: what launches under way wait for goes into the trace, as the process is about to end.
    void write_open_waits();

    void add(Context* context);
    // Collects what the context's launches have left, waiting at most kCloseMilliseconds for those that still run, and never uses the
    // context again.
    void close(Context* context);
    // Closes every context and ends the thread.
    void stop();
    // Takes nothing more from any GPU, whose memory may go away from now on. Waits until the thread has noticed, or for a second.
    void leave();
    void wake();

    uint64_t launches_measured() const { return measured_; }
    uint64_t launches_lost() const { return lost_; }
    uint64_t accesses() const { return accesses_; }
    uint64_t unresolved() const { return unresolved_; }
    uint64_t unmeasured() const { return unmeasured_; }
    uint64_t misdirected() const { return misdirected_; }
    uint64_t records_written() const { return records_; }
    uint64_t records_dropped() const { return dropped_; }
    uint64_t waits_dropped() const { return waits_dropped_; }

    static constexpr int kCloseMilliseconds = 5000;

  private:
    struct Member {
        Context* context = nullptr;
        uint64_t dropped = 0;
        uint64_t misdirected = 0;
        uint64_t waits_dropped = 0;
        std::unordered_map<uint16_t, WaitSums> waits;                             // by the launch's slot
        std::vector<uint64_t> taken = std::vector<uint64_t>(Context::kSlots, 0);  // records of the launch in each slot
        std::chrono::steady_clock::time_point next_times;
        bool more_ended = false;  // launches, than were taken at once
        bool closing = false;
        bool closed = false;
        std::chrono::steady_clock::time_point deadline;
        // Of the launch that has been in flight longest: what it had counted, and since when.
        uint32_t watched = 0;
        uint64_t sum = 0;
        std::chrono::steady_clock::time_point since;
        std::chrono::steady_clock::time_point next_look;
        bool told = false;
    };

    void run();
    bool serve(Member& member, bool last);
    // The same for launches that are timed, but not measured.
    void take_times(Member& member, bool last);
    void watch(Member& member);
    void take_records(Member& member, uint64_t until);
    void append(Member& member, const RawRecord& record);
    void append_wait(Member& member, const RecordHead& head);
    void add_wait(Member& member, uint16_t slot, const Wait& wait);
    // Waits that go on although their launches have ended, or nobody waits for these any more.
    void give_up_waits(Member& member, const std::vector<Flight>& flights);
    void abandon(Member& member);
    void write_open_waits(Member& member);
    void add_stores(Context& context, const Flight& flight, std::vector<uint64_t>* values, StoreSums* stores);
    void write_waits(Member& member, const Flight& flight);
    uint64_t* land(Member& member, const Flight& flight, uint64_t* values);
    uint64_t write_counts(Context& context, const Flight& flight, uint64_t* values, const uint64_t* end);
    void flush_records(Context& context);

    TraceWriter* const writer_;
    Catalog* const catalog_;
    void (*const on_thread_)();
    const std::chrono::seconds patience_;
    const OnStall on_stall_;
    const OnContradiction on_contradiction_;
    const WhosePolled whose_polled_;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable closed_;
    std::vector<std::unique_ptr<Member>> members_;
    bool stopping_ = false;
    bool woken_ = false;
    uint64_t looks_wanted_ = 0;
    uint64_t looks_done_ = 0;
    Look latest_look_;
    std::condition_variable looked_;

    std::atomic<uint64_t> measured_{0};
    std::atomic<uint64_t> lost_{0};
    std::atomic<uint64_t> accesses_{0};
    std::atomic<uint64_t> unresolved_{0};
    std::atomic<uint64_t> unmeasured_{0};
    std::atomic<uint64_t> misdirected_{0};
    std::atomic<uint64_t> records_{0};
    std::atomic<uint64_t> dropped_{0};
    std::atomic<uint64_t> waits_dropped_{0};

    // Of the thread alone.
    RecordWriter record_writer_;
    std::vector<uint64_t> values_;
    StoreSums stores_;

    std::thread thread_;
};

}  // namespace snoopie
