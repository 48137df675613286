// Which thread blocks the user chose by their place.
#pragma once

#include <string_view>

#include "probe/probe_abi.h"

namespace snoopie {

// BLOCKS: "all", linear indices and ranges ("0-7,12"), or ranges by axis ("x:0-3;y:1,3"). False if it is not understood.
bool parse_blocks(std::string_view text, BlockFilter* filter);

}  // namespace snoopie
