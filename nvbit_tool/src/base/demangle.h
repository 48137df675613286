// Names of C++ functions as people write them.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <string>

namespace snoopie {

// The name itself if it is not a mangled one.
inline std::string demangled(const char* name) {
    int status = 0;
    char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    const std::string result = status == 0 && text ? text : name;
    std::free(text);
    return result;
}

}  // namespace snoopie
