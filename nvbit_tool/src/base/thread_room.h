// Threads and processes that the user may still start: a limit on them (ulimit -u), of which the collector needs some, is the program's,
// too.
#pragma once

namespace snoopie {

// Whether the process could have so many more, which may take starting them: some milliseconds, where the limit is near.
bool threads_to_be_had(int number);

}  // namespace snoopie
