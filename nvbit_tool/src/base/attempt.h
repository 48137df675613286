// Work of the collector in calls of the program, and on threads of its own.
#pragma once

#include <exception>
#include <new>

namespace snoopie {

// Bookkeeping that runs out of memory costs the trace, not the program.
template <class Action>
void attempt(Action action) {
    try {
        action();
    } catch (const std::exception&) {
    }
}

// The same, where someone has to hear of it: `failed` gets the reason.
template <class Action, class Failed>
void attempt(Action action, Failed failed) {
    try {
        action();
    } catch (const std::bad_alloc&) {
        failed("out of memory");
    } catch (const std::exception& error) {
        failed(error.what());
    }
}

}  // namespace snoopie
