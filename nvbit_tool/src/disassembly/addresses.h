// What the driver writes into code when it loads it. A function that calls another, as each with an assertion does, or that reads a
// constant of its module holds addresses, which are others on each GPU and in each process. Its disassembly is the same but for these
// numbers, and so one that is kept serves all.
//
// On sm_75 and later, the driver writes into three kinds of instructions: in the relocations of all code for sm_80, sm_90 and sm_100 in
// NCCL, cuBLAS, cuSPARSE and cuRAND there is no other.
//
//     MOV R20, 0x7f12        bits 32 to 63
//     UMOV UR8, 0x7f12       bits 32 to 63
//     CALL.ABS.NOINC 0x…     the address without its last two bits, from bit 34 on; since sm_90 the first eight are from bit 16 on
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace snoopie {

// The code with 0 for each such number. `architecture`: 90 for sm_90.
std::string without_addresses(std::string code, int architecture);

// A listing by `nvdisasm -b` of code that differs from this in such numbers alone, with this code's. None if an instruction that has one
// does not stand in the listing as above.
std::optional<std::string> with_addresses(std::string_view listing, std::string_view code, int architecture);

}  // namespace snoopie
