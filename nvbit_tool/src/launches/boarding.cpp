#include "launches/boarding.h"

#include "base/clock.h"
#include "base/thread_id.h"
#include "libraries/nccl_calls.h"
#include "settings/kernel_filter.h"

namespace snoopie {

std::optional<Flight> Boarding::board(Context& context, ContextFunction& function, const LaunchCall& call, bool* new_code) {
    *new_code = instrumenter_->prepare(context, call, &function);
    if (function.unmeasurable) ++tally_->lost;
    if (function.last_site == 0) return std::nullopt;
    std::optional<Flight> flight;
    if (!recording_->ending()) flight = context.board(++last_launch_, function);
    if (flight)
        ++tally_->boarded;
    else
        ++tally_->lost;
    return flight;
}

void Boarding::lose(Context& context, std::optional<Flight>* flight) {
    --tally_->boarded;
    ++tally_->lost;
    notices_->note_once(
        "the kernel " + without_arguments((*flight)->function->name) +
        " was launched in a non-blocking stream while the default stream was busy for long: its code could not be instrumented in time, "
        "and the launch was not measured");
    context.cancel(**flight);
    flight->reset();
}

void Boarding::announce(const Context& context, const Flight& flight, const LaunchCall& call) {
    writer_->append(LaunchRow{flight.launch, flight.function->id, context.gpu(), reinterpret_cast<u8>(call.stream), thread_id(), now_ns(),
                              call.grid[0], call.grid[1], call.grid[2], call.block[0], call.block[1], call.block[2], call.shared_memory,
                              current_collective_group(context.gpu()), stack_()});
}

}  // namespace snoopie
