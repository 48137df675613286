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

// The same for many addresses, each within an instruction; 0 stands for one of which nothing can be known. The work is done by a thread of
// its own, on which `on_thread` is called first: after `limit` the rest is given up, and *whole is false.
std::vector<Symbols> symbolize(std::vector<uint64_t> addresses, std::chrono::milliseconds limit, void (*on_thread)(), bool* whole);

}  // namespace snoopie
