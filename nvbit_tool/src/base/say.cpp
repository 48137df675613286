#include "base/say.h"

#include <unistd.h>

namespace snoopie {

void say(const std::string& text) {
    const std::string line = "snoopie: " + text + "\n";
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace snoopie
