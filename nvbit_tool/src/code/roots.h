// What the addresses of a kernel's accesses are made from: the words of its parameters.
//
// Most addresses are a pointer among the parameters plus an index. The host knows at a launch what the parameters hold, so it knows which
// accesses can leave the GPU. For that the parameters are followed through the code, as values of 32-bit registers: a pointer keeps its
// halves apart, so that two integers that lie side by side in a struct are not taken for one.
//
// Everything errs towards `unknown`: what is loaded from memory other than as a 32-bit number, what another function returns, what an
// instruction that is not known writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

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
    // The code chooses a word, by an index for instance:
    enum class Any : uint8_t {
        none,
        pointer,  // any 8-byte word can be the pointer
        added,    // the same, and one that is no pointer can be added to another that is
        map,      // the address in a tensor map that lies anywhere among the parameters; nothing else
    };
    Any any = Any::none;
    bool operator==(const Roots& other) const {
        return unknown == other.unknown && pointers == other.pointers && numbers == other.numbers && any == other.any;
    }
};

// An operand that is an address in global or generic memory.
struct AddressOperand {
    size_t instruction = 0;  // index in the function
    size_t operand = 0;      // index in its SassLine
};

// The `reference`-th of the instruction's operands that are addresses, in the order in which it names them; none if it has no such.
std::optional<size_t> address_operand(const SassLine& line, size_t reference);

// `area`: none for a function that is called, which knows none of its registers. One result for each address.
std::vector<Roots> roots_of(const Listing& listing, const std::optional<ParameterArea>& area, const std::vector<AddressOperand>& addresses);

}  // namespace snoopie
