// A launch as its driver call describes it.
#pragma once

#include <array>
#include <cstdint>

#include "driver/driver.h"

namespace snoopie {

struct LaunchCall {
    CUfunction function = nullptr;
    CUstream stream = nullptr;
    std::array<uint32_t, 3> grid{1, 1, 1};
    std::array<uint32_t, 3> block{1, 1, 1};
    uint32_t shared_memory = 0;
    // The kernel's arguments in either of the two forms of the call, or null.
    void** parameters = nullptr;
    void** extra = nullptr;
    bool changes_on_device = false;  // captured, it becomes a node whose parameters kernels can change
};

}  // namespace snoopie
