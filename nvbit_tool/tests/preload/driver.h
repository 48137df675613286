// The stand-in for the driver, and how all parts of these tests say what happens: a line each, at once.
#pragma once

#include <unistd.h>

#include <string>

inline void tell(const std::string& what, const std::string& more = "") {
    const std::string line = what + (more.empty() ? "" : " " + more) + "\n";
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) _exit(9);
}

extern "C" {
int cuInit(unsigned flags);
void cuCall(const char* name);
// As a tool is told of calls.
void subscribe(void (*callback)(const char* name));
}
