// Remarks for whoever reads the trace. Safe to call from any thread.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "trace/trace_writer.h"

namespace snoopie {

class Notices {
  public:
    explicit Notices(TraceWriter* writer) : writer_(writer) {}

    void note(const std::string& text);
    // The same, but not again; whether it was new.
    bool note_once(const std::string& text);

  private:
    TraceWriter* const writer_;
    std::mutex mutex_;
    std::set<std::string> noted_;
};

}  // namespace snoopie
