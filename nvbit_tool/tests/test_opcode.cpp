// What an instruction does to memory: against the opcodes that the compiler makes of PTX, for several generations of GPUs.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "check.h"
#include "code/opcode.h"

using namespace snoopie;

namespace {

using Kind = Opcode::Kind;

const std::map<std::string, Operation> kOperations = {
    {"load", Operation::load}, {"store", Operation::store}, {"atomic", Operation::atomic}, {"reduction", Operation::reduction}};

// Of the classes in the listing, how they are treated.
const std::map<std::string, Kind> kClasses = {
    {"lanes", Kind::addressed}, {"bulk", Kind::bulk}, {"tensor", Kind::tensor}, {"other", Kind::unmeasured}, {"none", Kind::local}};

void listed() {
    std::ifstream listing(TEST_DATA "/opcodes.txt");
    size_t opcodes = 0;
    for (std::string line; std::getline(listing, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::string text, kind, operation, width;
        std::istringstream(line) >> text >> kind >> operation >> width;
        const Opcode opcode = decode_opcode(text, true);
        const bool right = opcode.kind == kClasses.at(kind) && (kind == "none" || opcode.operation == kOperations.at(operation)) &&
                           (width == "-" || std::to_string(opcode.width) == width);
        if (!right) std::printf("wrong: %s\n", line.c_str());
        CHECK(right);
        ++opcodes;
    }
    CHECK(opcodes > 400);
}

// Spellings that the listing does not have: of other disassemblers, and what nobody knows.
void by_hand() {
    struct Case {
        const char* opcode;
        Kind kind;
        Operation operation;
        int width;
    };
    const Case cases[] = {
        {"LDG.E", Kind::addressed, Operation::load, 4},
        {"LDG.E.U8", Kind::addressed, Operation::load, 1},
        {"LDG.E.S16.CONSTANT", Kind::addressed, Operation::load, 2},
        {"LDG.E.128.CONSTANT", Kind::addressed, Operation::load, 16},
        {"LDG.E.64.STRONG.SYS", Kind::addressed, Operation::load, 8},
        {"LDG.E.ENL2.256", Kind::addressed, Operation::load, 32},
        {"LDG.E.LTC128B", Kind::addressed, Operation::load, 4},
        {"LD.E.64", Kind::addressed, Operation::load, 8},
        {"STG.E", Kind::addressed, Operation::store, 4},
        {"STG.E.EF.128", Kind::addressed, Operation::store, 16},
        {"STG.E.ENL2.256", Kind::addressed, Operation::store, 32},
        {"ST.E.U16", Kind::addressed, Operation::store, 2},
        {"ATOMG.E.ADD.STRONG.GPU", Kind::addressed, Operation::atomic, 4},
        {"ATOMG.E.CAS.64.STRONG.SYS", Kind::addressed, Operation::atomic, 8},
        {"ATOMG.E.EXCH.128.STRONG.GPU", Kind::addressed, Operation::atomic, 16},
        {"ATOM.E.ADD.F64.RN.STRONG.GPU", Kind::addressed, Operation::atomic, 8},
        {"ATOMG.E.ADD.F16x2.RN.STRONG.GPU", Kind::addressed, Operation::atomic, 4},
        {"REDG.E.ADD.STRONG.GPU", Kind::addressed, Operation::reduction, 4},
        {"RED.E.ADD.S64.STRONG.GPU", Kind::addressed, Operation::reduction, 8},
        {"REDG.E.ADD.F32x2.RN.STRONG.GPU", Kind::addressed, Operation::reduction, 8},
        {"REDG.E.ADD.F32x4.RN.STRONG.GPU", Kind::addressed, Operation::reduction, 16},
        {"REDG.E.ADD.F16x4.RN.STRONG.GPU", Kind::addressed, Operation::reduction, 8},
        {"REDG.E.ADD.BF16x8.RN.STRONG.GPU", Kind::addressed, Operation::reduction, 16},
        {"REDG.E.ADD.BF16_V2.RN.STRONG.GPU", Kind::addressed, Operation::reduction, 4},
        {"LDGSTS.E.BYPASS.LTC128B.128", Kind::addressed, Operation::load, 16},
        {"LDGSTS.E.64", Kind::addressed, Operation::load, 8},
        {"LDGMC.E.ADD.F32x4.RN.STRONG.SYS", Kind::addressed, Operation::load, 16},
        {"UBLKCP.S.G", Kind::bulk, Operation::load, 16},
        {"UBLKCP.G.S", Kind::bulk, Operation::store, 16},
        {"UBLKCP.S.S", Kind::local, Operation::load, 16},
        {"UBLKRED.G.S.ADD", Kind::bulk, Operation::reduction, 16},
        {"UBLKCP.NEW", Kind::unmeasured, Operation::load, 16},
        {"UTMALDG.2D", Kind::tensor, Operation::load, 1},
        {"UTMALDG.5D.MULTICAST", Kind::tensor, Operation::load, 1},
        {"UTMALDG.4D.IM2COL", Kind::unmeasured, Operation::load, 1},
        {"UTMASTG.2D", Kind::tensor, Operation::store, 1},
        {"UTMAREDG.3D.ADD", Kind::tensor, Operation::reduction, 1},
        {"TEX.SCR.LL", Kind::unmeasured, Operation::load, 0},
        {"NEWMEM.E", Kind::unmeasured, Operation::load, 0},
        {"UTMAPF.L2", Kind::local, Operation::load, 0},
        {"CCTL.IVALL", Kind::local, Operation::load, 0},
    };
    for (const Case& c : cases) {
        const Opcode opcode = decode_opcode(c.opcode, true);
        if (opcode.kind != c.kind || opcode.operation != c.operation || opcode.width != c.width) std::printf("wrong: %s\n", c.opcode);
        CHECK(opcode.kind == c.kind && opcode.operation == c.operation && opcode.width == c.width);
    }
    CHECK_EQ(decode_opcode("LDGSTS.E", true).reference, 1);
    for (const char* local : {"IADD3", "LDS.64", "STS", "LDL", "STL", "LDC.64", "MEMBAR.SC.GPU", "LDSM.16.M88.4", "ATOMS.ADD", ""})
        CHECK(decode_opcode(local, false).kind == Kind::local);
}

void by_text() {
    for (const char* text :
         {"LDG.E.64 R2, desc[UR4][R2.64] ;", "@!P0 STG.E desc[UR6][R8.64+0x10], R10 ;", "@UP0 UBLKCP.S.G [UR4], [UR8], UR10 ;",
          "{ LDG.E R1, [R2] }", "TEX.SCR.LL R0, R2, R4, 0x0, 2D ;", "@P1 TLD4.R R0, R2, R4, 0x0, 2D ;",
          "LDGSTS.E.128 [R1], desc[UR4][R6.64], P0 ;", "SULD.D.2D R0, [R2], 0x0 ;", "NEW R0, c[0x0][0x210], [R4] ;"})
        CHECK(names_memory(text));
    for (const char* text : {"IADD3 R1, R1, c[0x0][0x28], RZ ;", "@P0 FFMA R4, R5, -c[0x0][R2], |c[0x3][0x10]| ;",
                             "ULDC.64 UR4, c[0x0][0x208] ;", "MOV R1, cx[UR4][0x10] ;", "BRA 0x120 ;", "@!PT EXIT ;", "", "@P0"})
        CHECK(!names_memory(text));
}

}  // namespace

int main() {
    by_text();
    listed();
    by_hand();
    return test::summary("opcode");
}
