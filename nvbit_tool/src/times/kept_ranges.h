// Ranges, and calls of NCCL, that end before the trace is there, which is opened when CUPTI has the first records; from then on they go
// into it.
#pragma once

#include <mutex>
#include <variant>
#include <vector>

#include "base/attempt.h"
#include "base/recording.h"
#include "libraries/collective_writer.h"
#include "phases/range_writer.h"
#include "phases/ranges.h"

namespace snoopie {

class KeptRanges final : public RangeSink, public CollectiveSink {
  public:
    static constexpr size_t kMost = 1 << 16;

    explicit KeptRanges(const Recording* recording) : recording_(recording) {}

    void ended(const Range& range) noexcept override { take(range); }
    void marked(const Mark& mark) noexcept override { take(mark); }
    void collectives(const std::vector<Collective>& calls) noexcept override { take(calls); }

    // Those that are kept, and all that come until `stop`, which the writers outlive.
    void go_to(RangeWriter* writer, CollectiveWriter* collectives) {
        const std::unique_lock lock(mutex_);
        writer_ = writer;
        collectives_ = collectives;
        for (const auto& one : kept_) std::visit([&](const auto& row) { give(row); }, one);
        kept_.clear();
        kept_.shrink_to_fit();
    }

    void stop() {
        const std::unique_lock lock(mutex_);
        stopped_ = true;
    }

    uint64_t lost() const { return lost_; }

  private:
    template <class Row>
    void take(const Row& row) {
        // A child has nobody who would give the lock back.
        if (recording_->forked()) return;
        const std::unique_lock lock(mutex_);
        if (stopped_) return;
        if (writer_) return give(row);
        bool kept = false;
        if (kept_.size() < kMost) attempt([&] { kept_.emplace_back(row), kept = true; });
        lost_ += !kept;
    }
    void give(const Range& range) { writer_->ended(range); }
    void give(const Mark& mark) { writer_->marked(mark); }
    void give(const std::vector<Collective>& calls) { collectives_->collectives(calls); }

    const Recording* const recording_;
    std::mutex mutex_;
    bool stopped_ = false;
    RangeWriter* writer_ = nullptr;
    CollectiveWriter* collectives_ = nullptr;
    std::vector<std::variant<Range, Mark, std::vector<Collective>>> kept_;
    uint64_t lost_ = 0;
};

}  // namespace snoopie
