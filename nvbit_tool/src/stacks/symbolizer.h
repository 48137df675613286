// Which function and source line an address of this process belongs to.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace snoopie {

struct Symbol {
    std::string function;  // demangled
    std::string file;
    uint32_t line = 0;
    std::string code;  // the statement there
};

// What is known of one address: the function, and outward those that it was inlined into. Empty = nothing.
using Symbols = std::vector<Symbol>;

struct CodeAddress {
    uint64_t address = 0;  // within an instruction, 0 = nothing can be known of it
    std::string module;    // the file that it was loaded from
};

// The same for many addresses. The work is done by a thread of its own, on which `on_thread` is called first: after `limit` the rest is
// given up, and *whole is false.
std::vector<Symbols> symbolize(std::vector<CodeAddress> addresses, std::chrono::milliseconds limit, void (*on_thread)(), bool* whole);

}  // namespace snoopie
