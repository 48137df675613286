// The environment for programs that the tool starts.
#pragma once

#include <unistd.h>

#include <cstring>
#include <vector>

namespace snoopie {

// This process's, ended by a null, without what the application preloads: that is this tool. Points into the process's own strings.
inline std::vector<char*> environment_without_preload() {
    constexpr char kPreload[] = "LD_PRELOAD=";
    std::vector<char*> environment;
    for (char** variable = environ; *variable; ++variable)
        if (std::strncmp(*variable, kPreload, sizeof kPreload - 1) != 0) environment.push_back(*variable);
    environment.push_back(nullptr);
    return environment;
}

}  // namespace snoopie
