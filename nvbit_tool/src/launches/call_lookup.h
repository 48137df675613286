// What the totals of driver calls ask for: the GPUs of contexts, the names of kernels and errors.
#pragma once

#include "calls/call_totals.h"
#include "calls/copy_ends.h"
#include "launches/contexts.h"
#include "launches/launch_decision.h"

namespace snoopie {

CallLookup call_lookup(const Contexts* contexts, const LaunchDecision* decision, const OwnerLookup* owners);

}  // namespace snoopie
