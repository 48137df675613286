// Launches from the entry of their driver call to its exit.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "launches/boarding.h"
#include "launches/contexts.h"
#include "launches/drain.h"
#include "launches/launch_decision.h"
#include "launches/launch_tally.h"
#include "trace/notices.h"

namespace snoopie {

// A launch between the entry and the exit of its call.
struct Launch {
    std::unique_lock<std::mutex> lock;  // of the function, if the kernel is selected
    Context* context = nullptr;
    CUstream stream = nullptr;
    std::optional<Flight> flight;               // if it is measured by probes
    ContextFunction* without_probes = nullptr;  // if it is known that it needs none
    ContextFunction* node_of = nullptr;         // if it is a graph's
    bool lost = false;                          // if it should be measured and cannot be
    std::optional<LaunchTimer::Timing> timing;  // if it is not measured, but timed
    bool outside = false;                       // of what is recorded
    bool captured = false;                      // into a graph, where it becomes a node
};

// Safe to call from any thread.
class Launches {
  public:
    Launches(const Recording* recording, const Contexts* contexts, const LaunchDecision* decision, Boarding* boarding, Drain* drain,
             Notices* notices, LaunchTally* tally)
        : recording_(recording),
          contexts_(contexts),
          decision_(decision),
          boarding_(boarding),
          drain_(drain),
          notices_(notices),
          tally_(tally) {}

    // A launch of which nothing is to be known but that it was; none if its kernel is selected.
    std::optional<Launch> native(CUcontext handle, const LaunchCall& call);
    Launch before(CUcontext handle, const LaunchCall& call);
    // A launch that runs in another context than the current one, where NVBit does not follow it.
    Launch elsewhere(CUcontext runs_in, const LaunchCall& call);
    void after(Launch launch, bool succeeded);
    // The same of several that end together.
    void after(std::vector<Launch> launches, bool succeeded);
    // At the entry of the call that ends a stream.
    void stream_ending(CUcontext handle, CUstream stream);

  private:
    // What is to be noted of a launch; whether it is measured and under way.
    bool note(Launch* launch, bool succeeded);
    void depart(Context* context, CUstream stream, Flight* flights, size_t count);
    // The last thing before a launch that is not measured; `id`: of its row, 0 = it has none.
    void time(Launch* launch, const ContextFunction& function, const LaunchCall& call, uint32_t id = 0);

    const Recording* const recording_;
    const Contexts* const contexts_;
    const LaunchDecision* const decision_;
    Boarding* const boarding_;
    Drain* const drain_;
    Notices* const notices_;
    LaunchTally* const tally_;
};

}  // namespace snoopie
