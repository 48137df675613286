// What an instruction does to memory, from the full text of its opcode.
//
// NVBit's own isLoad/isStore/getSize are wrong for several opcodes (vector atomics, 256-bit accesses), so the text decides. An opcode that
// is not known but touches memory is `unmeasured`: counted among the sites and shown, never guessed.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/owners.h"

namespace snoopie {

struct Opcode {
    enum class Kind : uint8_t {
        local,       // cannot touch another GPU's memory: arithmetic, shared, local and constant memory
        addressed,   // touches memory at an address of each lane
        bulk,        // copies contiguous bytes, once for a warp: the address in a pair of uniform registers, the size in another
        tensor,      // copies a box of a tensor, once for a warp: tensor map and coordinates in uniform registers
        unmeasured,  // can touch another GPU's memory at addresses that cannot be had
    };
    Kind kind = Kind::local;
    Operation operation = Operation::load;
    uint8_t width = 0;        // bytes a lane, a power of two up to 32; 0 = unknown. Of a bulk copy, the unit of its size.
    uint8_t reference = 0;    // which of the instruction's memory references is the global one, or the tensor map
    uint8_t rank = 0;         // of a tensor copy: how many coordinates it has, and
    uint8_t coordinates = 0;  // how far behind the other memory reference's register they begin
};

// `touches_memory`: the disassembler's opinion whether the instruction's space could be another GPU's; used for opcodes not in the list.
Opcode decode_opcode(std::string_view full_opcode, bool touches_memory);

// Whether an instruction can touch memory, by its text: an operand is a place outside the constant banks, or it is a texture's, whose
// operands do not say so. What cannot is by far the most, and need not be decoded.
bool names_memory(std::string_view sass);

}  // namespace snoopie
