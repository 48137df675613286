#include "launches/launch_decision.h"

#include "launches/launch_sample.h"
#include "nvbit.h"

namespace snoopie {

ContextFunction& LaunchDecision::function(Context& context, CUfunction handle) const {
    ContextFunction& function = context.function(handle);
    std::call_once(function.decision, [&] {
        const OwnCalls own;
        function.name = nvbit_get_func_name(context.handle(), handle, false);
        function.selected = filter_.selects(function.name, nvbit_get_func_name(context.handle(), handle, true));
    });
    return function;
}

Code LaunchDecision::code(const Context& context, ContextFunction& function, const LaunchCall&) const {
    if (!reaches_foreign(context)) return Code::original;
    return launch_sampled(function.launches++, launch_sample_) ? Code::full : Code::original;
}

}  // namespace snoopie
