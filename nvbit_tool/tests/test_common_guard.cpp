// Guards in which the lanes of a warp do not differ.
#include "code/common_guard.h"

#include <string>
#include <vector>

#include "check.h"

using namespace snoopie;

namespace {

// Of the last instruction.
bool common(const std::vector<std::string>& code) {
    std::vector<uint32_t> offsets;
    for (size_t i = 0; i < code.size(); ++i) offsets.push_back(static_cast<uint32_t>(16 * i));
    return has_common_guard(listing_of(offsets, {code.begin(), code.end()}), code.size() - 1);
}

const std::string kStore = "@!P0 STG.E desc[UR6][R8.64], R11 ;";

void halo() {
    // Whether there is a neighbour (UR8, UR9) and the block is of the first row (UR5), as nvcc compiles `if (up && y == 1)`.
    const std::vector<std::string> row = {
        "S2UR UR5, SR_CTAID.X ;",
        "ISETP.NE.U32.AND P0, PT, RZ, UR8, PT ;",
        "ISETP.NE.AND P1, PT, R15, UR4, PT ;",
        "ISETP.NE.AND.EX P0, PT, RZ, UR9, PT, P0 ;",
        "ISETP.NE.OR P0, PT, RZ, UR5, !P0 ;",
        "FADD R12, R12, R13 ;",
        kStore,
    };
    CHECK(common(row));
    // P1 compares what is not known.
    auto other = row;
    other.back() = "@P1 STG.E desc[UR6][R8.64], R11 ;";
    CHECK(!common(other));
    // The same with general registers, of which two are of the block and one is of the lane.
    std::vector<std::string> registers = {
        "S2R R0, SR_CTAID.X ;", "LDC R15, c[0x0][0x234] ;", "VIADD R0, R0, 0x1 ;", "ISETP.NE.AND P0, PT, R0, R15, PT ;", kStore,
    };
    CHECK(common(registers));
    registers[0] = "S2R R0, SR_TID.X ;";
    CHECK(!common(registers));
    registers[0] = "S2R R0, SR_LANEID ;";
    CHECK(!common(registers));
    // Of the upper half of two registers that are loaded at once.
    CHECK(common({"LDC.64 R4, c[0x0][0x228] ;", "ISETP.EQ.U32.AND P0, PT, R5, RZ, PT ;", kStore}));
    CHECK(!common({"LDC.64 R4, c[0x0][0x228] ;", "ISETP.EQ.U32.AND P0, PT, R6, RZ, PT ;", kStore}));
}

void differing() {
    const std::string compare = "ISETP.NE.AND P0, PT, RZ, UR5, PT ;";
    CHECK(common({compare, kStore}));
    // No guard, or a uniform one, which NVBit handles as it is; and one of which no value is known.
    CHECK(!common({compare, "STG.E desc[UR6][R8.64], R11 ;"}));
    CHECK(!common({"UISETP.NE.AND UP0, UPT, URZ, UR5, UPT ;", "@!UP0 STG.E desc[UR6][R8.64], R11 ;"}));
    CHECK(!common({kStore}));
    // Under a guard only some lanes are compared; in another block lanes may have come together.
    CHECK(!common({"ISETP.NE.AND P0, PT, R3, R4, PT ;", "@P1 " + compare, kStore}));
    CHECK(!common({compare, "BSYNC B0 ;", kStore}));
    CHECK(!common({compare, "@P2 BRA 0x20 ;", kStore}));
    // Another predicate takes part, in which lanes differ, as one of two sources or by being written elsewhere.
    CHECK(!common({"ISETP.NE.AND P1, PT, R3, R4, PT ;", "ISETP.NE.AND P0, PT, RZ, UR5, P1 ;", kStore}));
    CHECK(common({"ISETP.NE.AND P1, PT, RZ, UR4, PT ;", "ISETP.NE.AND P0, PT, RZ, UR5, P1 ;", kStore}));
    CHECK(common({"ISETP.NE.AND P0, PT, RZ, UR4, PT ;", "ISETP.NE.AND P2, PT, R3, R4, P0 ;", kStore}));
    CHECK(!common({compare, "ISETP.NE.AND P2, P0, R3, R4, PT ;", kStore}));
    CHECK(!common({compare, "IADD3 R4, P0, R2, R3, RZ ;", kStore}));
    CHECK(!common({compare, "R2P PR, R4, 0x7f ;", kStore}));
    CHECK(!common({compare, "VOTE.ANY R3, P0, P1 ;", kStore}));
    CHECK(!common({compare, "SOMETHING P0, R3 ;", kStore}));
    CHECK(common({compare, "PLOP3.LUT P0, PT, P0, PT, PT, 0x8, 0x0 ;", kStore}));
    // What is loaded may differ, also with an index into the parameters.
    CHECK(!common({"LDG.E R4, desc[UR6][R2.64] ;", "ISETP.NE.AND P0, PT, R4, RZ, PT ;", kStore}));
    CHECK(!common({"LDC R4, c[0x0][R3+0x210] ;", "ISETP.NE.AND P0, PT, R4, RZ, PT ;", kStore}));
    CHECK(!common({"SHFL.IDX PT, R4, R2, RZ, 0x1f ;", "ISETP.NE.AND P0, PT, R4, RZ, PT ;", kStore}));
    // A register that is written under a guard, and one that is half of the block and half of the lane.
    CHECK(!common({"S2R R0, SR_CTAID.X ;", "@P3 MOV R0, 0x1 ;", "ISETP.NE.AND P0, PT, R0, RZ, PT ;", kStore}));
    CHECK(!common({"S2R R0, SR_CTAID.X ;", "S2R R1, SR_TID.X ;", "IMAD R0, R0, 0x100, R1 ;", "ISETP.NE.AND P0, PT, R0, RZ, PT ;", kStore}));
}

}  // namespace

int main() {
    halo();
    differing();
    return test::summary("common guard");
}
