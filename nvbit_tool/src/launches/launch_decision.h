// Which code a launch runs. Decided here, before anything is done about it; LaunchCode then puts the code in place.
#pragma once

#include <cstdint>
#include <functional>

#include "launches/context.h"
#include "settings/kernel_filter.h"
#include "settings/options.h"

namespace snoopie {

enum class Code {
    original,  // the kernel's own: the launch is not measured
    full,      // with all its probes
};

// Safe to call from any thread.
class LaunchDecision {
  public:
    // Of the options: which kernels are selected, and how many of their launches. `reaches_foreign`: whether kernels on a GPU can reach
    // memory that is not that GPU's own.
    LaunchDecision(const Options& options, std::function<bool(uint8_t gpu)> reaches_foreign)
        : filter_(options.kernels), launch_sample_(options.launch_sample), reaches_foreign_(std::move(reaches_foreign)) {}

    // The function as the context knows it. From here on it has its name and is selected or not: the first call for it looks.
    ContextFunction& function(Context& context, CUfunction handle) const;

    // For a launch of a selected function, whose lock is held: counts the launch among those that LAUNCH_SAMPLE chooses from.
    Code code(const Context& context, ContextFunction& function, const LaunchCall& call) const;

    // Whether there is anything to measure on the context's GPU.
    bool reaches_foreign(const Context& context) const { return reaches_foreign_(context.gpu()); }

  private:
    const KernelFilter filter_;
    const uint32_t launch_sample_;
    const std::function<bool(uint8_t gpu)> reaches_foreign_;
};

}  // namespace snoopie
