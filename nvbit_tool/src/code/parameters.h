// The parameters of a kernel: where constant bank 0 holds them, and which of them there are.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "code/cubin.h"
#include "code/roots.h"

namespace snoopie {

struct KernelParameters {
    struct One {
        uint32_t offset = 0;  // in the area
        uint32_t bytes = 0;
    };
    ParameterArea area;
    std::vector<One> list;  // in their order
};

// Of the kernels of a cubin, by their names there. Those whose parameters are not described as expected are left out.
std::unordered_map<std::string, KernelParameters> parameters_of(const Cubin& cubin);

}  // namespace snoopie
