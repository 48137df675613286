// Returns of this process's functions that another program traces, as snoopie watch, perf and bpftrace do with the driver's.
//
// The kernel then puts an address of its own in place of the caller's, which it alone knows: the stack cannot be followed further.
#pragma once

#include <cstdint>
#include <istream>

namespace snoopie {

// Whether the kernel catches returns at this address. `maps`: as /proc/self/maps has it.
bool catches_returns(uint64_t address, std::istream& maps);
bool catches_returns(uint64_t address);

}  // namespace snoopie
