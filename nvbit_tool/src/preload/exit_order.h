// When, while the process exits, what the driver and the collector have registered for it runs.
#pragma once

namespace snoopie {

// The last moment at which the driver still answers: behind the destructors of everything made after it began. `last` is called then.
void before_driver_ends(void (*last)());

// While one of these lives, what this thread registers for the exit, the driver apart, is kept: a library that is loaded meanwhile ends as
// if it had been loaded with this one, after everything that the program makes. Destructors of the program's still make calls that the
// collector hears of.
class EndingLast {
  public:
    EndingLast();
    ~EndingLast();
    EndingLast(const EndingLast&) = delete;
    EndingLast& operator=(const EndingLast&) = delete;
};

}  // namespace snoopie
