// Ranges that end before the trace is there, which is opened when CUPTI has the first records; from then on they go into it.
#pragma once

#include <mutex>
#include <variant>
#include <vector>

#include "base/attempt.h"
#include "base/recording.h"
#include "phases/range_writer.h"
#include "phases/ranges.h"

namespace snoopie {

class KeptRanges final : public RangeSink {
  public:
    static constexpr size_t kMost = 1 << 16;

    explicit KeptRanges(const Recording* recording) : recording_(recording) {}

    void ended(const Range& range) noexcept override { take(range); }
    void marked(const Mark& mark) noexcept override { take(mark); }

    // Those that are kept, and all that come. The writer lives until `Ranges` sends here no more.
    void go_to(RangeWriter* writer) {
        const std::unique_lock lock(mutex_);
        writer_ = writer;
        for (const auto& one : kept_) std::visit([&](const auto& row) { give(row); }, one);
        kept_.clear();
        kept_.shrink_to_fit();
    }

    uint64_t lost() const { return lost_; }

  private:
    template <class Row>
    void take(const Row& row) {
        // A child has nobody who would give the lock back.
        if (recording_->forked()) return;
        const std::unique_lock lock(mutex_);
        if (writer_) return give(row);
        bool kept = false;
        if (kept_.size() < kMost) attempt([&] { kept_.emplace_back(row), kept = true; });
        lost_ += !kept;
    }
    void give(const Range& range) { writer_->ended(range); }
    void give(const Mark& mark) { writer_->marked(mark); }

    const Recording* const recording_;
    std::mutex mutex_;
    RangeWriter* writer_ = nullptr;
    std::vector<std::variant<Range, Mark>> kept_;
    uint64_t lost_ = 0;
};

}  // namespace snoopie
