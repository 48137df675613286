// What the tool tells the user: one line on stderr.
#pragma once

#include <unistd.h>

#include <string>

namespace snoopie {

// "snoopie: " and the text, as one write: lines of several processes do not mix.
inline void say(const std::string& text) {
    const std::string line = "snoopie: " + text + "\n";
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace snoopie
