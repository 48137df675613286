// What the addresses of a kernel's accesses are made from: the words of its parameters.
//
// Most addresses are a pointer among the parameters plus an index. The host knows at a launch what the parameters hold, so it knows which
// accesses can leave the GPU. For that the parameters are followed through the code, as values of 32-bit registers: a pointer keeps its
// halves apart, so that two integers that lie side by side in a struct are not taken for one.
//
// Many kernels can be launched in several ways, of which one takes its pointers from memory. What is unknown for that reason alone is so in
// launches that reach that code: launch_paths.h tells which do.
//
// Everything errs towards `unknown`: what is loaded from memory other than as a 32-bit number, what another function returns, what an
// instruction that is not known writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "code/launch_paths.h"
#include "code/listing.h"

namespace snoopie {

// Where constant bank 0 holds the kernel's parameters.
struct ParameterArea {
    uint32_t base = 0;
    uint32_t bytes = 0;
};

struct Roots {
    bool unknown = true;             // it can be any address
    std::vector<uint16_t> pointers;  // 8-byte words of the parameters that it is a sum of; one or more, but for `any`
    std::vector<uint16_t> numbers;  // 4-byte words that take part in it otherwise: factors, offsets, shifted, or only one half of a pointer
    // Those of which it is known how often they do: an index, or a constant that is left out, is added so many times 2^`shift` the word, or
    // the product of the two words.
    struct Multiple {
        uint16_t word = 0;
        uint16_t factor = 0;  // the same if there is none
        bool product = false;
        uint8_t shift = 0;
        auto all() const { return std::tie(word, factor, product, shift); }
        bool operator==(const Multiple& other) const { return all() == other.all(); }
    };
    // The code chooses a word, by an index for instance:
    enum class Any : uint8_t {
        none,
        pointer,  // any 8-byte word can be the pointer
        added,    // the same, and one that is no pointer can be added to another that is
        map,      // the address in a tensor map that lies anywhere among the parameters; nothing else
    };
    Any any = Any::none;
    // It is unknown in launches that reach one of these places. In others it is what the above says, or if that is nothing, the access does
    // not run. Ascending; none if this is so in no launch, or of an unknown one in all.
    std::vector<uint32_t> unknown_at = {};
    std::vector<Multiple> multiples = {};
    auto all() const { return std::tie(unknown, pointers, numbers, any, unknown_at, multiples); }
    bool operator==(const Roots& other) const { return all() == other.all(); }
    bool unknown_always() const { return unknown && unknown_at.empty(); }
};

// An operand that is an address in global or generic memory.
struct AddressOperand {
    size_t instruction = 0;  // index in the function
    size_t operand = 0;      // index in its SassLine
};

// The `reference`-th of the instruction's operands that are addresses, in the order in which it names them; none if it has no such.
std::optional<size_t> address_operand(const SassLine& line, size_t reference);

// `area`: none for a function that is called, which knows none of its registers. One result for each address. `paths`: with the places
// where they are unknown; if null, they are so in all launches.
std::vector<Roots> roots_of(const Listing& listing, const std::optional<ParameterArea>& area, const std::vector<AddressOperand>& addresses,
                            LaunchPaths* paths = nullptr);

}  // namespace snoopie
