#include "launches/launches.h"

#include <map>
#include <utility>

#include "launches/launch_code.h"
#include "settings/kernel_filter.h"

namespace snoopie {

std::optional<Launch> Launches::native(CUcontext handle, const LaunchCall& call) {
    Context* const context = contexts_->find_for_launch(handle);
    std::optional<Launch> launch(std::in_place);
    launch->context = context;
    if (context) {
        const ContextFunction& function = decision_->function(*context, call.function);
        if (function.selected) return std::nullopt;
        ++tally_->seen;
        time(&*launch, function, call);
    }
    return launch;
}

void Launches::time(Launch* launch, const ContextFunction& function, const LaunchCall& call, uint32_t id) {
    LaunchTimer* const timer = launch->context->timer();
    if (!timer || recording_->ending()) return;
    launch->stream = call.stream;
    const UnmeasuredRow row = boarding_->unmeasured(*launch->context, function, call);
    launch->timing = timer->begin(call.stream);
    if (!launch->timing) {
        notices_->note_once("some launches could not be timed: more than " + std::to_string(LaunchTimer::kMost) +
                            " were under way, or the driver refused events");
        return;
    }
    launch->timing->row = row;
    launch->timing->launch = id;
}

Launch Launches::before(CUcontext handle, const LaunchCall& call) {
    Launch launch;
    Context* context = contexts_->find_for_launch(handle);
    if (!context) return launch;
    ++tally_->seen;
    launch.context = context;
    launch.stream = call.stream;
    if (!context->memory()) return launch;
    const OwnCalls own;
    ContextFunction& function = decision_->function(*context, call.function);
    if (!function.selected) {
        time(&launch, function, call);
        return launch;
    }
    launch.lock = std::unique_lock(function.launching);
    launch.outside = !decision_->inside(*context);
    const bool measured = !launch.outside && decision_->measured(*context, function);
    const bool new_code = measured && boarding_->prepare(*context, function, call);
    launch.lost = measured && function.unmeasurable;
    if (function.last_site == 0) {
        if (!launch.outside) time(&launch, function, call);
        return launch;
    }
    Decision decision;
    if (measured) {
        decision = decision_->decide(*context, function, call);
        if (decision.code != Code::original) launch.flight = boarding_->board(*context, function, call, decision);
    }
    std::optional<uint64_t> value;
    if (launch.flight) value = context->launch_value(*launch.flight);
    if (!context->code().choose(function, call, value, new_code, decision.live)) boarding_->lose_late(*context, &launch.flight);
    launch.lost = measured && decision.code != Code::original && !launch.flight;
    uint32_t id = 0;
    if (decision.code == Code::original) {
        id = boarding_->without_probes(*context, function, call);
        launch.without_probes = &function;
    }
    if (!launch.flight) {
        if (!launch.outside) time(&launch, function, call, id);
        return launch;
    }
    boarding_->announce(*context, *launch.flight, call);
    context->begin(&*launch.flight, call.stream);
    return launch;
}

Launch Launches::elsewhere(CUcontext runs_in, const LaunchCall& call) {
    Launch launch;
    Context* context = contexts_->find_for_launch(runs_in);
    if (!context) return launch;
    ++tally_->seen;
    launch.context = context;
    const OwnCalls own;
    const ContextFunction& function = decision_->function(*context, call.function);
    launch.outside = function.selected && !decision_->inside(*context);
    if (function.selected && !launch.outside && decision_->reaches_foreign(*context)) {
        ++tally_->lost;
        launch.lost = true;
        const std::string kernel = without_arguments(function.name);
        notices_->note_once("kernel " + kernel + " was launched in a stream of GPU " + std::to_string(context->gpu()) +
                            " while another GPU was current, which NVBit does not support: the launch was not measured; make the "
                            "stream's GPU current (cudaSetDevice) before the launch");
    }
    return launch;
}

void Launches::after(Launch launch, bool succeeded) {
    if (!note(&launch, succeeded)) return;
    depart(launch.context, launch.stream, &*launch.flight, 1);
}

void Launches::after(std::vector<Launch> launches, bool succeeded) {
    std::map<std::pair<Context*, CUstream>, std::vector<Flight>> departing;
    for (Launch& launch : launches)
        if (note(&launch, succeeded)) departing[{launch.context, launch.stream}].push_back(*launch.flight);
    for (auto& [where, flights] : departing) depart(where.first, where.second, flights.data(), flights.size());
}

bool Launches::note(Launch* launch, bool succeeded) {
    if (launch->node_of) --launch->node_of->nodes_under_way;
    if (!launch->context || !recording_->on() || recording_->exiting()) return false;
    if (!succeeded) --tally_->seen;
    if (!succeeded && launch->lost) --tally_->lost;
    if (!succeeded && launch->outside) decision_->was_none();
    if (launch->timing) {
        if (succeeded)
            launch->context->timer()->end(*launch->timing, launch->stream);
        else
            launch->context->timer()->cancel(*launch->timing);
    }
    if (!succeeded && launch->without_probes) {
        --tally_->harmless;
        --launch->without_probes->launches;
        --launch->without_probes->launches_measured;
        launch->without_probes->liveness.did_not_run();
    }
    if (!launch->flight || succeeded) return launch->flight.has_value();
    --tally_->boarded;
    --launch->flight->function->launches;
    const OwnHarmlessCalls own;
    launch->context->cancel(*launch->flight);
    return false;
}

void Launches::depart(Context* context, CUstream stream, Flight* flights, size_t count) {
    const OwnHarmlessCalls own;
    if (!context->depart(flights, count, stream)) {
        tally_->unfollowed += count;
        return;
    }
    for (size_t i = 0; i < count; ++i) ++flights[i].function->launches_measured;
    drain_->wake();
}

void Launches::stream_ending(CUcontext handle, CUstream stream) {
    if (!stream || capturing(stream)) return;
    Context* const context = contexts_->find_for_launch(context_of(stream, handle));
    if (!context || !context->memory()) return;
    const OwnCalls own;
    context->code().stream_ending(stream);
}

}  // namespace snoopie
