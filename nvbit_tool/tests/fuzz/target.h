// What is fuzzed: functions that take any bytes. They return, or something is wrong; what the sanitizers cannot see they say with
// `require`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

struct Target {
    const char* name;
    void (*run)(std::string_view input);
};

// All that are linked into the program, by name.
std::vector<Target>& targets();
const Target* find_target(std::string_view name);

struct Registered {
    Registered(const char* name, void (*run)(std::string_view)) { targets().push_back({name, run}); }
};

// Ends the program as a fault of the sanitizers does.
void require(bool ok, const char* what);

// The input as lines, without their ends; a last empty one does not count.
std::vector<std::string> lines_of(std::string_view input);

// A file that holds the input, in memory; its path stays the same.
const std::string& file_of(std::string_view input, const std::string& name);

}  // namespace fuzz

// FUZZ_TARGET(name) { … input … }
#define FUZZ_TARGET(NAME)                                                \
    static void fuzz_##NAME(std::string_view input);                     \
    static const fuzz::Registered registered_##NAME(#NAME, fuzz_##NAME); \
    static void fuzz_##NAME(std::string_view input)
