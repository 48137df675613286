// Bookkeeping in calls of the program.
#pragma once

#include <exception>

namespace snoopie {

// Bookkeeping that runs out of memory costs the trace, not the program.
template <class Action>
void attempt(Action action) {
    try {
        action();
    } catch (const std::exception&) {
    }
}

}  // namespace snoopie
