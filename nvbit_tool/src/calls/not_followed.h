// Who is told that the program uses something whose traffic is not measured.
#pragma once

#include <functional>

namespace snoopie {

// Told of what the program uses and this version does not follow, each time that it is met.
using NotFollowed = std::function<void(const char* what)>;

}  // namespace snoopie
