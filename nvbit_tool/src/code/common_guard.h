// Guards that hold for all lanes that run together, or for none.
//
// A call before an instruction with a guard runs for every warp, also where the guard holds nowhere, as at the edge of a plate. If lanes
// cannot differ in the guard, the jump to the call can have it, too, and no lanes part. They cannot differ in what is made of constants,
// parameters, the block's place and uniform registers alone.
#pragma once

#include <cstddef>

#include "code/listing.h"

namespace snoopie {

// Of the instruction `at`. Only the basic block is looked at: within it lanes do not come together that ran apart. False for one that
// always runs.
bool has_common_guard(const Listing& listing, size_t at);

}  // namespace snoopie
