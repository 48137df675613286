// The last moment of the program's exit at which the driver still answers: behind the destructors of everything made after cuInit.
#pragma once

namespace snoopie {

// `last` is called then. To be called within cuInit, before the driver registers its end; until `driver_started`, which ends the search.
void before_driver_ends(void (*last)());
void driver_started();

}  // namespace snoopie
