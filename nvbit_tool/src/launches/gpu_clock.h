// When events of a context happened, in host time.
#pragma once

#include <memory>
#include <optional>

#include "driver/driver.h"
#include "launches/event_clock.h"

namespace snoopie {

class GpuClock {
  public:
    // `stream`: one of the collector's own, in which nothing waits for a kernel. Context current; null if the driver refuses.
    static std::unique_ptr<GpuClock> create(CUstream stream);

    // One thread at a time, context current:
    // Of a launch between two events with timing; what the driver said, that it is not ready where they have not happened.
    CUresult span(CUevent start, CUevent end, uint64_t called, Span* span);
    // Follows the host's clock, once a second. Waits for the GPU to come to an empty stream, but not longer than kPatience.
    void keep_up();

  private:
    GpuClock(CUstream stream, CUevent base, CUevent next, EventClock clock) : stream_(stream), base_(base), next_(next), clock_(clock) {}

    void renew();

    const CUstream stream_;
    CUevent base_;
    CUevent next_;  // of the renewal
    EventClock clock_;
};

}  // namespace snoopie
