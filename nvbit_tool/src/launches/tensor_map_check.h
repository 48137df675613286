// Whether the driver lays tensor maps out as the probes read them.
#pragma once

#include "nvbit.h"

namespace snoopie {

// Of a map that the driver has just made. True also where the probes do not read such a map.
bool tensor_map_is_as_expected(const cuTensorMapEncodeTiled_params& call);

}  // namespace snoopie
