// Which code a launch runs. Decided here, before anything is done about it; LaunchCode then puts the code in place.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "launches/context.h"
#include "memory/memory.h"
#include "phases/window.h"
#include "settings/kernel_filter.h"
#include "settings/options.h"
#include "trace/owners.h"

namespace snoopie {

struct Decision {
    Code code = Code::full;
    const CallSet* live = nullptr;  // of partial code: the calls that are in it
    // Sites from which no access may leave the GPU, which the counts of the full code are to show; null if nothing is known of them.
    const std::vector<uint32_t>* dead = nullptr;
};

// Safe to call from any thread.
class LaunchDecision {
  public:
    // Of the options: which kernels are selected, how many of their launches, and which of their probes.
    LaunchDecision(const Options& options, const Memory* memory, Window* window)
        : filter_(options.kernels),
          launch_sample_(options.launch_sample),
          probes_(options.probes),
          waits_(options.waits),
          memory_(memory),
          window_(window) {}

    // The function as the context knows it. From here on it has its name and is selected or not: the first call for it looks.
    ContextFunction& function(Context& context, CUfunction handle) const;

    // Whether a launch of a selected function is in the time, and among the launches, that are to be recorded: counts it there or outside.
    bool inside(const Context& context) const { return !reaches_foreign(context) || window_->takes_launch(); }
    // A launch that was outside has failed: it was none.
    void was_none() const { --window_->launches_outside; }

    // Whether a launch inside of a selected function, whose lock is held, is measured: counts it among those that LAUNCH_SAMPLE chooses
    // from.
    bool measured(const Context& context, ContextFunction& function) const;

    // For a launch that is, once its function has been looked at: any code will do that has the calls of all accesses that may leave the
    // GPU.
    Decision decide(const Context& context, ContextFunction& function, const LaunchCall& call) const;
    // The same for nodes of graphs: what is in the code then is enough for all that run the function.
    Decision decide_for_graphs(const Context& context, ContextFunction& function) const;
    // Kernels can give nodes of graphs other parameters: which ones is not known.
    void nodes_change_on_device() { nodes_change_on_device_ = true; }

    // Whether there is anything to measure on the context's GPU. Kernels wait also where only others reach theirs.
    bool reaches_foreign(const Context& context) const { return waits_ || memory_->reaches_foreign(context.gpu()); }

  private:
    bool is_judged(const ContextFunction& function) const;
    Decision choose(ContextFunction& function, const Liveness::Answer& answer) const;

    const KernelFilter filter_;
    const uint32_t launch_sample_;
    const Probes probes_;
    const bool waits_;
    const Memory* const memory_;
    Window* const window_;
    std::atomic<bool> nodes_change_on_device_{false};
};

}  // namespace snoopie
