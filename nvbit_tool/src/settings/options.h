// The user's settings, from the environment. A setting that cannot be understood is an error with one sentence; nothing is guessed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "probe/probe_abi.h"

namespace snoopie {

// What is recorded of the program's driver calls.
enum class Calls : uint8_t { off, summary, all };

struct Options {
    std::vector<std::string> kernels;  // patterns of KERNEL_NAME; empty = all
    bool code_attribution = true;      // CODE_ATTRIBUTION
    uint32_t sample_size = 1;          // SAMPLE_SIZE: records of 1 in so many accesses; 0 = no records, counts only
    uint32_t launch_sample = 1;        // LAUNCH_SAMPLE: measure 1 launch in so many of each kernel
    std::string output;                // SNOOPIE_OUTPUT; empty = the default
    std::string blocks_text = "all";   // BLOCKS as given
    BlockFilter blocks;                // BLOCKS: the thread blocks that are measured
    bool host_memory = true;           // HOST_MEMORY: whether accesses to the host's memory are measured
    uint32_t patience = 60;            // PATIENCE: seconds until a kernel without progress is reported; 0 = never
    uint32_t packing = kMostPacked;    // PACKING: at most so many accesses share an injected call
    bool exit_on_stall = false;        // STALL: whether such a kernel ends the process
    bool code_context = true;          // CODE_CONTEXT: whether launches, copies and objects have call stacks
    bool object_attribution = true;    // DATA_OBJECT_ATTRIBUTION: whether objects have them, and counts have objects
    bool disassembly_cache = true;     // DISASSEMBLY_CACHE
    Calls calls = Calls::summary;      // CALLS: sums, or also each call

    std::string kernels_text() const;
    const char* calls_text() const;
};

struct OptionError {
    std::string sentence;
};

using Environment = std::function<const char*(const char*)>;

std::variant<Options, OptionError> read_options(const Environment& environment);

}  // namespace snoopie
