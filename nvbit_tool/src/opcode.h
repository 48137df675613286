// What an instruction does to memory, from the full text of its opcode.
//
// NVBit's own isLoad/isStore/getSize are wrong for several opcodes (vector atomics, 256-bit accesses), so the text decides. An opcode that
// is not known but touches memory is `unmeasured`: counted among the sites and shown, never guessed.
#pragma once

#include <cstdint>
#include <string_view>

#include "owners.h"

namespace snoopie {

struct Opcode {
    enum class Kind : uint8_t {
        local,       // cannot touch another GPU's memory: arithmetic, shared, local and constant memory
        addressed,   // touches memory at an address from registers: can be probed
        unmeasured,  // can touch another GPU's memory in a way that is not measured yet
    };
    Kind kind = Kind::local;
    Operation operation = Operation::load;
    uint8_t width = 0;      // bytes a lane, a power of two up to 32; 0 = unknown
    uint8_t reference = 0;  // which of the instruction's memory references is the global one
};

// `touches_memory`: the disassembler's opinion whether the instruction's space could be another GPU's; used for opcodes not in the list.
Opcode decode_opcode(std::string_view full_opcode, bool touches_memory);

}  // namespace snoopie
