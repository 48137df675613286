// The user's settings, from the environment. A value that is not allowed is an error with one sentence; nothing is guessed.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "settings/settings.h"

namespace snoopie {

struct OptionError {
    std::string sentence;
};

using Environment = std::function<const char*(const char*)>;

std::variant<Options, OptionError> read_options(const Environment& environment);

}  // namespace snoopie
