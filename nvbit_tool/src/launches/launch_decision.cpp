#include "launches/launch_decision.h"

#include "launches/launch_sample.h"
#include "nvbit.h"

namespace snoopie {

namespace {

// The first launch of a kernel, and then by chance one in so many, runs all probes: whether what was judged from its parameters holds.
constexpr uint32_t kCheckOneIn = 1024;

}  // namespace

ContextFunction& LaunchDecision::function(Context& context, CUfunction handle) const {
    ContextFunction& function = context.function(handle);
    std::call_once(function.decision, [&] {
        const OwnCalls own;
        function.name = nvbit_get_func_name(context.handle(), handle, false);
        function.selected = filter_.selects(function.name, nvbit_get_func_name(context.handle(), handle, true));
    });
    return function;
}

bool LaunchDecision::measured(const Context& context, ContextFunction& function) const {
    return reaches_foreign(context) && launch_sampled(function.launches++, launch_sample_);
}

bool LaunchDecision::is_judged(const ContextFunction& function) const {
    return probes_ != Probes::full && function.addresses && !(function.in_graph && nodes_change_on_device_);
}

Decision LaunchDecision::decide(const Context& context, ContextFunction& function, const LaunchCall& call) const {
    if (!is_judged(function)) return {};
    const FunctionAddresses& addresses = *function.addresses;
    Liveness& liveness = function.liveness;
    const auto where_is = [this, gpu = context.gpu()] { return memory_->where_is(gpu); };
    const uint64_t version = memory_->map().version();
    const Liveness::Answer* answer =
        &liveness.at_launch(addresses, parameter_bytes(*addresses.parameters, call.parameters, call.extra), where_is, version);
    // A graph of another thread, which runs this code, may be about to be launched.
    if (function.in_graph) answer = &liveness.beside_graphs(*answer, addresses, where_is, version);
    return choose(function, *answer);
}

Decision LaunchDecision::decide_for_graphs(const Context& context, ContextFunction& function) const {
    if (!is_judged(function)) return {};
    const auto where_is = [this, gpu = context.gpu()] { return memory_->where_is(gpu); };
    return choose(function, function.liveness.in_graphs(*function.addresses, where_is, memory_->map().version()));
}

Decision LaunchDecision::choose(ContextFunction& function, const Liveness::Answer& answer) const {
    Liveness& liveness = function.liveness;
    const bool check = probes_ == Probes::check || launch_sampled(liveness.looked_at(), kCheckOneIn);
    if (check) return {Code::full, nullptr, answer.dead};
    // Other kernels can call what this one does: its accesses are not told by its own parameters.
    const bool needs_none = !answer.any_live && !function.shares_code;
    if (needs_none) {
        if (!function.enabled || (!function.stays && liveness.shrinks())) return {Code::original, nullptr, nullptr};
        return {function.in_place ? Code::partial : Code::full, function.in_place, answer.dead};
    }
    const CallSet* live = function.words ? answer.live : nullptr;
    if (!function.enabled) {
        liveness.grows();
    } else if (!covers(function.in_place, live)) {
        liveness.grows();
        if (live) live = liveness.united(*function.in_place, *live);
    } else if (function.in_place != live && (function.stays || !liveness.shrinks())) {
        live = function.in_place;
    }
    return {live ? Code::partial : Code::full, live, answer.dead};
}

}  // namespace snoopie
