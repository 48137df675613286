// Who hears that the program uses something whose traffic is not measured.
#pragma once

#include <functional>

namespace snoopie {

// Called with what the program uses and this version does not follow, each time.
using NotFollowed = std::function<void(const char* what)>;

}  // namespace snoopie
