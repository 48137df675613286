// A driver call's parameters as NVBit hands them over.
#pragma once

#include "nvbit.h"

namespace snoopie {

template <class Params>
const Params& as(const void* params) {
    return *static_cast<const Params*>(params);
}

}  // namespace snoopie
