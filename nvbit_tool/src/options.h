// The user's settings, from the environment. A setting that cannot be understood is an error with one sentence; nothing is guessed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace snoopie {

struct Options {
    std::vector<std::string> kernels;  // patterns of KERNEL_NAME; empty = all
    bool code_attribution = true;      // CODE_ATTRIBUTION
    uint32_t sample_size = 1;          // SAMPLE_SIZE: records of 1 in so many accesses; 0 = no records, counts only
    std::string output;                // SNOOPIE_OUTPUT; empty = the default

    std::string kernels_text() const;
};

struct OptionError {
    std::string sentence;
};

using Environment = std::function<const char*(const char*)>;

std::variant<Options, OptionError> read_options(const Environment& environment);

}  // namespace snoopie
