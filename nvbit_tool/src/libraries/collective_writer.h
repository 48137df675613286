// NCCL calls into the trace.
#pragma once

#include <unistd.h>

#include <mutex>

#include "base/attempt.h"
#include "libraries/collective_log.h"
#include "libraries/nccl_calls.h"
#include "phases/window.h"
#include "trace/trace_writer.h"

namespace snoopie {

class CollectiveWriter final : public CollectiveSink {
  public:
    // Without a window all of them.
    explicit CollectiveWriter(TraceWriter* writer, const Window* window = nullptr) : writer_(writer), window_(window), pid_(getpid()) {}

    void collectives(const std::vector<Collective>& calls) noexcept override {
        if (getpid() != pid_) return;  // a forked child
        attempt([&] {
            const std::unique_lock lock(mutex_);
            log_.add(calls);
            if (window_ && !window_->open()) return;
            for (const Collective& call : calls)
                writer_->append(collective_row(++last_, call, [this](const std::string& text) { return writer_->intern(text); }));
        });
    }

    const CollectiveLog& log() const { return log_; }

  private:
    TraceWriter* const writer_;
    const Window* const window_;
    const int pid_;
    std::mutex mutex_;  // so that the ids rise in the order of the rows
    uint32_t last_ = 0;
    CollectiveLog log_;
};

}  // namespace snoopie
