// Some of the calls in a function's instrumented code.
#pragma once

#include <cstddef>
#include <vector>

namespace snoopie {

// By their places in FunctionAddresses::calls.
using CallSet = std::vector<bool>;

// Sets are passed by address; none at all stands for all calls.
inline bool covers(const CallSet* set, const CallSet* part) {
    if (!set || set == part) return true;
    if (!part) return false;
    for (size_t i = 0; i < set->size(); ++i)
        if ((*part)[i] && !(*set)[i]) return false;
    return true;
}

}  // namespace snoopie
