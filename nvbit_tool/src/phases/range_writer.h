// Ranges and marks into the trace.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/attempt.h"
#include "phases/ranges.h"
#include "trace/notices.h"
#include "trace/trace_writer.h"

namespace snoopie {

class RangeWriter final : public RangeSink {
  public:
    // `recording`: whether anything still is.
    RangeWriter(TraceWriter* writer, std::function<bool()> recording) : writer_(writer), recording_(std::move(recording)) {}

    void ended(const Range& range) noexcept override {
        write([&] { return RangeRow{++last_, range.thread, range.start, range.end, text(range.name), text(range.domain), range.pushed}; });
    }
    void marked(const Mark& mark) noexcept override {
        write([&] { return MarkRow{mark.time, text(mark.text), mark.thread, text(mark.domain)}; });
    }

  private:
    static constexpr uint64_t kRowsBetweenWaits = 1 << 16;

    template <class Row>
    void write(Row row) {
        attempt([&] {
            if (!recording_()) return;
            writer_->append(row());
            // A program that does nothing but begin and end ranges must not outrun the disk.
            if (++written_ % kRowsBetweenWaits == 0) writer_->wait_for_room();
        });
    }

    uint32_t text(Name name) { return name ? writer_->intern(*name) : 0; }

    TraceWriter* const writer_;
    const std::function<bool()> recording_;
    uint32_t last_ = 0;
    uint64_t written_ = 0;
};

// Those that are open go to their sink as they are, and what ends from now on to none.
inline void end_ranges(Ranges* ranges, Notices* notices) {
    ranges->give_up_open();
    if (ranges->out_of_names())
        notices->note("the program has more than " + std::to_string(Ranges::kMostNames) +
                      " names for ranges: the rest have one name together");
}

}  // namespace snoopie
