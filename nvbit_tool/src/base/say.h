// What the tool tells the user: one line on stderr.
#pragma once

#include <string>

namespace snoopie {

// "snoopie: " and the text, as one write: lines of several processes do not mix.
void say(const std::string& text);

}  // namespace snoopie
