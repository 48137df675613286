// The parameters of a kernel: where constant bank 0 holds them, and which of them there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
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

// As the cubin says; none if it does not, or not as expected.
std::optional<KernelParameters> parameters_of(const Cubin& cubin, std::string_view kernel);

}  // namespace snoopie
