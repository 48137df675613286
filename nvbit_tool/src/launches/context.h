// One CUDA context: its GPU's probe memory, its instrumented functions, and the launches in flight.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calls/launch_call.h"
#include "driver/driver.h"
#include "launches/call_set.h"
#include "launches/code_words.h"
#include "launches/event_pool.h"
#include "launches/function_addresses.h"
#include "launches/gpu_clock.h"
#include "launches/launch_timer.h"
#include "launches/liveness.h"
#include "launches/probe_memory.h"

namespace snoopie {

// A kernel or device function as this context knows it.
struct ContextFunction {
    // Held from the launch's entry to its exit for selected kernels: NVBit keeps launch value and on/off switch per function.
    std::mutex launching;
    std::once_flag decision;
    bool selected = false;
    std::string name;
    mutable std::atomic<uint32_t> name_id{0};  // in the trace; 0 = it was not asked for
    bool instrumented = false;
    bool unmeasurable = false;        // it could have sites, and NVBit cannot handle it
    bool by_table = false;            // it calls through a table,
    std::set<uint32_t> table_places;  // whose functions at these places are instrumented
    uint32_t id = 0;                  // in the trace
    uint32_t first_site = 0;          // ids that a launch of it can reach; 0 = none to measure
    uint32_t last_site = 0;
    // Of the kernel itself; null while it is not instrumented.
    std::shared_ptr<const FunctionAddresses> addresses;
    Liveness liveness;
    // What LAUNCH_SAMPLE chooses from, and what of it was measured.
    std::atomic<uint64_t> launches{0};
    std::atomic<uint64_t> launches_measured{0};
    // Of LaunchCode: NVBit's switch and value as they were set last.
    bool enabled = false;
    std::optional<CodeWords::Kept> words;  // with which calls are taken out of the code
    const CallSet* in_place = nullptr;     // of instrumented code: the calls that are in it at least; null = all
    bool uncounted = false;
    bool changed_late = false;  // once there was no time to take calls out of its code, all or some,
    bool stays = false;         // or to put some in: then none are taken out any more
    uint64_t given = 0;         // the value that NVBit gives its launches
    bool slow_values = false;   // it takes NVBit long to give them one: they have a cell's
    bool in_graph = false;
    std::atomic<uint32_t> nodes_under_way{0};  // between the announcement of a graph's node and the exit of the graph's launch
    bool shares_code = false;                  // it calls instrumented functions that other kernels can call too
    uint64_t written = 0;                      // number of the last write of its code
};

class LaunchCode;

// A measured launch between its call and the collection of its counts.
struct Flight {
    uint32_t launch = 0;  // id
    uint16_t slot = 0;
    ProbeMemory::Counters counters;
    CUevent event = nullptr;               // after the launch, in its stream
    bool owns_event = true;                // false: one that departed later has it, too
    StreamKind kind = StreamKind::legacy;  // of that stream
    CUevent start = nullptr;               // before it; null if its time cannot be told
    uint64_t called = 0;                   // host ns, when that was recorded
    uint32_t group = 0;                    // of NCCL's calls that it carries out, 0 = none
    ContextFunction* function = nullptr;
    Code code = Code::full;
    // Sites that no access to other memory was expected from; null: nothing was expected.
    const std::vector<uint32_t>* dead = nullptr;
    std::chrono::steady_clock::time_point begin;
};

class Context {
  public:
    static constexpr uint32_t kSlots = 1 << 16;  // of launches in flight

    Context(CUcontext handle, uint8_t gpu);
    ~Context();

    CUcontext handle() const { return handle_; }
    uint8_t gpu() const { return gpu_; }

    // A function has several handles (a CUkernel at its launch, a CUfunction in a graph): its code's address tells that it is the same.
    uint64_t identity(CUfunction handle) const;
    ContextFunction& function(CUfunction handle);
    // All handles that were asked for.
    std::vector<CUfunction> handles();
    // Their code is gone. What is known of them lives on for launches under way, and is found no more. Their identities.
    std::vector<uint64_t> forget(const std::vector<CUfunction>& handles);

    // Set once, before the first launch; null where there is nothing to trace or no memory for it.
    void give_memory(std::unique_ptr<ProbeMemory> memory) { memory_ = std::move(memory); }
    ProbeMemory* memory() const { return memory_.get(); }
    // The same; null where it cannot be told when launches ran.
    void give_clock(std::unique_ptr<GpuClock> clock) { clock_ = std::move(clock); }

    // The same, where there is a clock; null unless launches that are not measured are timed.
    void give_timer(std::unique_ptr<LaunchTimer> timer) { timer_ = std::move(timer); }
    LaunchTimer* timer() const { return timer_.get(); }

    // Counters and a slot for a launch of so many blocks. Where all are in use, it waits for those of launches under way, which the
    // draining thread gives back one after the other. None if no launch is under way, or none comes back for too long.
    std::optional<Flight> board(uint32_t launch, ContextFunction& function, uint64_t blocks);
    // For how long in all.
    std::chrono::nanoseconds waited() const;
    LaunchCode& code() { return *code_; }
    EventPool& events() { return events_; }
    // Of the collector's own, which waits for no other; null if there can be none.
    CUstream side_stream();

    uint64_t launch_value(const Flight& flight) const { return memory_->launch_value(flight.slot, flight.counters); }
    std::optional<uint64_t> take_launch_cell();
    void give_back_launch_cell(uint64_t cell);
    // The launch follows in `stream`, which is not capturing: from here on its time counts.
    void begin(Flight* flight, CUstream stream);
    // The launch did not happen.
    void cancel(const Flight& flight);
    // Launches that end together, as far as is known, are in `stream`; false if their end cannot be followed: then their slots and counters
    // are never used again.
    bool depart(Flight* flights, size_t count, CUstream stream);
    // Whether measured launches that run code of this function are under way in streams of this kind or the next.
    bool under_way(const ContextFunction& function, StreamKind first) const;
    // All functions that were asked for so far.
    std::vector<const ContextFunction*> functions();

    // For the draining thread:
    size_t in_flight() const;
    // Those whose launches have ended, at most `limit`. On an error of the context everything in flight goes to *lost.
    std::vector<Flight> landed(size_t limit, std::vector<Flight>* lost);
    // When one of those ran on the GPU; none for a node of a graph.
    std::optional<Span> span(const Flight& flight);
    // The same of one that is not measured; what the driver said, that it is not ready while the launch has not ended.
    CUresult span(const LaunchTimer::Timing& timing, Span* span);
    // Before those of `span`: they are right then.
    void keep_time();
    // The launch that has been in flight longest, if any.
    std::optional<Flight> oldest() const;
    // All in flight, in the order of each stream.
    std::vector<Flight> flights() const;
    uint32_t launch_in(uint16_t slot) const { return slots_[slot].launch; }
    // Of how many blocks its cells of moments are.
    uint32_t log2_blocks_in(uint16_t slot) const { return slots_[slot].log2_blocks; }
    // Counts are collected and records taken: slot, counters and events are free again.
    void disembark(const Flight& flight);

  private:
    std::optional<Flight> board_locked(uint32_t launch, ContextFunction& function, uint64_t blocks);
    std::optional<Flight> board_locked(uint32_t launch, ContextFunction& function, uint64_t blocks, bool banks);
    // Whether slots and counters are of launches that were made, and so come back.
    bool some_come_back_locked() const { return collecting_ || !flights_.empty(); }
    std::optional<uint16_t> free_slot(const ProbeMemory::Counters& counters);
    void free_locked(const Flight& flight);

    const CUcontext handle_;
    const uint8_t gpu_;
    EventPool events_;
    const std::unique_ptr<LaunchCode> code_;
    std::unique_ptr<ProbeMemory> memory_;
    std::unique_ptr<GpuClock> clock_;
    std::unique_ptr<LaunchTimer> timer_;
    std::once_flag side_stream_once_;
    CUstream side_stream_ = nullptr;

    std::mutex functions_mutex_;
    std::unordered_map<CUfunction, ContextFunction*> functions_;
    std::unordered_map<uint64_t, std::unique_ptr<ContextFunction>> functions_by_identity_;
    std::vector<std::unique_ptr<ContextFunction>> forgotten_;

    mutable std::mutex mutex_;
    // A stream's launches end in order. The per-thread default streams have one handle: they are told by the thread.
    std::map<std::pair<CUstream, uint32_t>, std::deque<Flight>> flights_;
    struct Slot {
        uint32_t launch = 0;  // id, 0 = free
        uint32_t log2_blocks = 0;
    };
    std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
    std::condition_variable comes_back_;
    uint64_t came_back_ = 0;       // slots and counters, so many times
    bool collecting_ = false;      // landed() has handed out flights, and was not called again yet
    bool waited_in_vain_ = false;  // nothing came back in time, nor since
    std::chrono::nanoseconds waited_{0};
    // Slots go round, so that what comes late for one finds no other launch in it. By the first of those that are alike.
    std::map<uint32_t, uint32_t> next_slot_;
};

}  // namespace snoopie
