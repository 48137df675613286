// Writes a trace: collects rows, seals them into blocks, and has a thread compress and write these. Safe to call from any thread.
//
// Nothing here waits for the disk except `wait_for_room`, which only those who write much call. A write error ends the trace
// (its whole blocks stay readable) and is reported once by `error`; the application never notices.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/attempt.h"
#include "trace/schema.h"
#include "trace/table_builder.h"

namespace snoopie {

class TraceWriter {
  public:
    static constexpr size_t kBlockBytes = 1 << 20;
    static constexpr int kBlockMilliseconds = 1000;

    struct Settings {
        int compression_level = 3;
        size_t queued_blocks = 32;  // above this, wait_for_room waits
    };

    // Takes over the open file `fd` and writes `header` (JSON) as the first block. `on_thread` is called once on the writer's thread.
    TraceWriter(int fd, const std::string& header, Settings settings, void (*on_thread)() = nullptr);
    ~TraceWriter();
    TraceWriter(const TraceWriter&) = delete;
    TraceWriter& operator=(const TraceWriter&) = delete;

    template <class Row>
    void append(const Row& row) {
        std::unique_lock lock(mutex_);
        append_locked(row);
    }

    // Many rows under one lock.
    template <class Row>
    void append(const std::vector<Row>& rows) {
        std::unique_lock lock(mutex_);
        for (const Row& row : rows) append_locked(row);
    }

    // The id of a string in the table `strings`, written when it is new. "" is 0.
    uint32_t intern(const std::string& text);

    // What every later index entry says of records lost so far.
    void set_dropped(uint64_t records) { dropped_.store(records, std::memory_order_relaxed); }

    // Waits until the queue of sealed blocks is short again.
    void wait_for_room();

    // Seals everything and waits until the file ends with `footer` (JSON): it is whole, whatever becomes of the process. Rows that still
    // follow take the footer's place, and it is written again behind them.
    void checkpoint(const std::string& footer);

    // Seals everything, writes `footer` (JSON) as the last block and closes the file. Later calls do nothing.
    void finish(const std::string& footer);

    // Forgets the file without touching it: for the child after a fork, whose copy of the writer has no thread.
    void abandon();

    // Ends the file behind what has been written: something is missing that was to follow. `why` is the reason.
    void fail(const char* why);
    // What makes or writes rows, on a thread of the collector's: where it cannot, they are missing, and the file ends.
    template <class Action>
    void guard(Action action) {
        attempt(action, [this](const char* why) { fail(why); });
    }

    // Reason of the first failure, "" if there was none.
    std::string error() const;

    uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }

  private:
    // Rows of a table, which the writer's thread encodes, or the header or footer as it stands.
    struct Block {
        Table table;
        TableBuilder rows;
        std::string json;
    };

    template <class Row>
    void append_locked(const Row& row) {
        if (closed_ || failed_) return;
        TableBuilder& builder = builders_[static_cast<size_t>(Row::kTable)];
        if (!builder.fits(row)) seal_locked(Row::kTable);
        if (!pending_) oldest_ = std::chrono::steady_clock::now();
        pending_ = true;
        builder.append(row);
        if (builder.raw_size() >= kBlockBytes) seal_locked(Row::kTable);
    }

    // Seals the pending rows of `last` and of every table before it: rows refer only to tables declared earlier, so a reference never
    // stands in the file before its target. Behind them comes the footer, if there is one already.
    void seal_locked(Table last);
    void end_locked(const std::string& footer);
    void fail_locked(const char* why);
    void run();
    void write_block(Block& block);
    bool take_back_footer();
    bool write_all(const std::string& bytes);

    const Settings settings_;
    void (*const on_thread_)();

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable room_;
    std::vector<TableBuilder> builders_;
    std::deque<Block> queue_;
    std::unordered_map<std::string, uint32_t> strings_;
    std::chrono::steady_clock::time_point oldest_;
    std::string footer_;
    bool pending_ = false;
    bool writing_ = false;
    bool closed_ = false;
    std::string error_;

    std::atomic<bool> failed_{false};  // nothing is written any longer
    std::atomic<uint64_t> dropped_{0};
    std::atomic<uint64_t> bytes_written_{0};

    // Used by the writer's thread alone.
    int fd_;
    uint32_t sequence_ = 0;
    uint64_t footer_at_ = 0;  // where the footer begins that was written last, 0 = there is none
    void* compressor_ = nullptr;

    std::thread thread_;
};

}  // namespace snoopie
