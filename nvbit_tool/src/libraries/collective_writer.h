// NCCL calls into the trace.
#pragma once

#include <unistd.h>

#include <mutex>

#include "libraries/collective_log.h"
#include "libraries/nccl_calls.h"
#include "trace/trace_writer.h"

namespace snoopie {

class CollectiveWriter final : public CollectiveSink {
  public:
    explicit CollectiveWriter(TraceWriter* writer) : writer_(writer), pid_(getpid()) {}

    void collectives(const std::vector<Collective>& calls) override {
        if (getpid() != pid_) return;  // a forked child
        const std::unique_lock lock(mutex_);
        log_.add(calls);
        for (const Collective& call : calls)
            writer_->append(collective_row(++last_, call, [this](const std::string& text) { return writer_->intern(text); }));
    }

    const CollectiveLog& log() const { return log_; }

  private:
    TraceWriter* const writer_;
    const int pid_;
    std::mutex mutex_;  // so that the ids rise in the order of the rows
    uint32_t last_ = 0;
    CollectiveLog log_;
};

}  // namespace snoopie
