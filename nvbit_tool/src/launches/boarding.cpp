#include "launches/boarding.h"

#include <algorithm>

#include "base/clock.h"
#include "base/thread_id.h"
#include "driver/preloaded_library.h"
#include "settings/kernel_filter.h"

namespace snoopie {

bool Boarding::prepare(Context& context, ContextFunction& function, const LaunchCall& call) {
    const bool new_code = instrumenter_->prepare(context, call, &function);
    if (function.unmeasurable) ++tally_->lost;
    return new_code;
}

uint32_t Boarding::without_probes(const Context& context, ContextFunction& function, const LaunchCall& call,
                                  std::optional<uint32_t> stack) {
    if (recording_->ending()) return 0;
    ++tally_->harmless;
    ++function.launches_measured;
    function.liveness.ran_without_any();
    const uint32_t launch = ++last_launch_;
    write(context, launch, function, call, Code::original, stack ? *stack : stack_());
    return launch;
}

UnmeasuredRow Boarding::unmeasured(const Context& context, const ContextFunction& function, const LaunchCall& call) {
    uint32_t name = function.name_id;
    if (name == 0) function.name_id = name = writer_->intern(function.name);
    return {name,          context.gpu(), reinterpret_cast<u8>(call.stream),
            thread_id(),   now_ns(),      call.grid[0],
            call.grid[1],  call.grid[2],  call.block[0],
            call.block[1], call.block[2]};
}

std::optional<Flight> Boarding::board(Context& context, ContextFunction& function, const LaunchCall& call, const Decision& decision) {
    std::optional<Flight> flight;
    // A launch of none fails.
    const uint64_t blocks = std::max<uint64_t>(uint64_t{call.grid[0]} * call.grid[1] * call.grid[2], 1);
    if (!recording_->ending()) flight = context.board(++last_launch_, function, blocks);
    if (!flight) {
        ++tally_->lost;
        if (!recording_->ending())
            notices_->note_once("some launches of kernel " + without_arguments(function.name) +
                                " were not measured: launches under way had all counters in use");
        return flight;
    }
    ++tally_->boarded;
    flight->code = decision.code;
    flight->group = preloaded_library().current_collective_group(context.gpu());
    flight->dead = decision.dead;
    if (decision.code == Code::partial) function.liveness.ran_without_some();
    return flight;
}

void Boarding::lose_late(Context& context, std::optional<Flight>* flight) {
    lose(context, flight,
         " was launched while the default stream, or a launch of it in a non-blocking stream, did not end: it could not be instrumented in "
         "time, and the launch was not measured");
}

void Boarding::lose(Context& context, std::optional<Flight>* flight, const char* why) {
    --tally_->boarded;
    ++tally_->lost;
    notices_->note_once("kernel " + without_arguments((*flight)->function->name) + why);
    context.cancel(**flight);
    flight->reset();
}

void Boarding::announce(const Context& context, const Flight& flight, const LaunchCall& call, std::optional<uint32_t> stack) {
    write(context, flight.launch, *flight.function, call, flight.code, stack ? *stack : stack_());
}

Boarding::Last Boarding::last() const {
    std::unique_lock lock(last_mutex_);
    return last_;
}

void Boarding::write(const Context& context, uint32_t launch, const ContextFunction& function, const LaunchCall& call, Code code,
                     uint32_t stack) {
    {
        std::unique_lock lock(last_mutex_);
        last_.kernel = function.name;  // in the memory of the one before
        last_.time = std::chrono::steady_clock::now();
    }
    writer_->append(LaunchRow{launch, function.id, context.gpu(), reinterpret_cast<u8>(call.stream), thread_id(), now_ns(), call.grid[0],
                              call.grid[1], call.grid[2], call.block[0], call.block[1], call.block[2], call.shared_memory,
                              preloaded_library().current_collective_group(context.gpu()), stack, static_cast<u1>(code)});
}

}  // namespace snoopie
