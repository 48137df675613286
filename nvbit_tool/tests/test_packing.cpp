// Which accesses share an injected call: what instructions do to registers and control, and the places that follow from it.
#include "code/probe_packing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "code/sass.h"
#include "test_data.h"

using namespace snoopie;

namespace {

std::string joined(const std::vector<std::string_view>& parts) {
    std::string text;
    for (const std::string_view part : parts) text += (text.empty() ? "" : " | ") + std::string(part);
    return text;
}

void parsing() {
    const auto plain = parse_sass("STG.E.64 desc[UR6][R8.64+0x10], R10 ;");
    CHECK(plain && plain->guard == SassLine::kAlways && !plain->guard_negated && !plain->guard_uniform);
    CHECK_EQ(plain->name, "STG");
    CHECK_EQ(plain->modifiers, "E.64");
    CHECK_EQ(joined(plain->operands), "desc[UR6][R8.64+0x10] | R10");

    const auto guarded = parse_sass("  @!P0 BRA 0x1a0 ;");
    CHECK(guarded && guarded->guard == 0 && guarded->guard_negated && !guarded->guard_uniform);
    CHECK_EQ(guarded->name, "BRA");
    CHECK_EQ(joined(guarded->operands), "0x1a0");
    const auto uniform = parse_sass("@UP1 LDG.E R0, desc[UR4][R2.64]");
    CHECK(uniform && uniform->guard == 1 && uniform->guard_uniform && !uniform->guard_negated);
    const auto always = parse_sass("@PT EXIT ;");
    CHECK(always && always->guard == SassLine::kAlways && !always->guard_negated);
    const auto never = parse_sass("@!PT EXIT ;");
    CHECK(never && never->guard == SassLine::kAlways && never->guard_negated);

    const auto bare = parse_sass("NOP;");
    CHECK(bare && bare->name == "NOP" && bare->modifiers.empty() && bare->operands.empty());
    CHECK_EQ(joined(parse_sass("BRX R2 -0x100 (*\"BRANCH_TARGETS .L_1,.L_2\"*) ;")->operands),
             "R2 -0x100 (*\"BRANCH_TARGETS .L_1,.L_2\"*)");
    CHECK_EQ(joined(parse_sass("DEPBAR.LE SB0, 0x0, {5,4} ;")->operands).find("SB0 | 0x0"), 0u);
    CHECK_EQ(joined(parse_sass("X [R1, UR2], c[0x0][0x28], (a, b)")->operands), "[R1, UR2] | c[0x0][0x28] | (a, b)");

    for (const char* text : {"", ";", "   ", "@P0", "@P7 EXIT ;", "@P9 EXIT ;", "@ EXIT ;", "@R0 EXIT ;", "@!UR1 EXIT ;", "@P0 ;"})
        CHECK(!parse_sass(text));
}

SassEffect effect(const std::string& text) {
    const auto line = parse_sass(text);
    CHECK(line.has_value());
    return line ? effect_of(*line) : SassEffect();
}

// "R2 R3 P0", or "?" if it may write anything.
std::string written(const std::string& text) {
    const SassEffect result = effect(text);
    if (result.unknown) return "?";
    std::string names;
    for (size_t i = 0; i < result.registers.size(); ++i)
        if (result.registers[i]) names += " R" + std::to_string(i);
    for (int i = 0; i < 8; ++i)
        if (result.predicates >> i & 1) names += " P" + std::to_string(i);
    return names.empty() ? names : names.substr(1);
}

void results() {
    const std::pair<const char*, const char*> cases[] = {
        {"MOV R4, c[0x0][0x168]", "R4"},
        {"MOV.64 R6, UR4", "R6 R7"},
        {"IADD3 R4, P2, R8.reuse, c[0x0][0x160], RZ", "R4 P2"},
        {"IADD3.X R11, PT, PT, R7, RZ, RZ, P0, P1", "R11 P0 P1"},  // the last two are read: one too many is no harm
        {"IADD.64 R6, R6, 0x4", "R6 R7"},
        {"SEL.64 R16, R18, -0x1, P1", "R16 R17 P1"},
        {"IMNMX.S64 PT, PT, R26, R4, R6, PT, !PT", "R26 R27"},
        {"IMAD R17, R19, R2, R0", "R17"},
        {"IMAD.WIDE.U32 R4, R13.reuse, 0x4, R4", "R4 R5"},
        {"IMAD.WIDE.U32 R4, P0, R13, R2, R4", "R4 R5 P0"},
        {"SHF.L.U64.HI R9, R10.reuse, 0x2, R3", "R9"},
        {"LOP3.LUT P0, RZ, R2, 0x3, RZ, 0xc0, !PT", "P0"},
        {"ISETP.GE.AND P0, PT, R3, c[0x0][0x178], PT", "P0"},
        {"FSETP.NEU.AND P1, P2, R3, RZ, PT", "P1 P2"},
        {"R2P PR, R32, 0x3", "P0 P1 P2 P3 P4 P5 P6"},
        {"DFMA R22, R22, R24, R16", "R22 R23"},
        {"F2F.F64.F32 R18, R29", "R18 R19"},
        {"F2I.FTZ.U32.TRUNC.NTZ R5, R4", "R5"},
        {"F2F.F32.F64 R18, R28", "R18"},
        {"F2I.U32.F64.TRUNC R5, R4", "R5"},
        {"F2I.U64.TRUNC R6, R4", "R6 R7"},
        {"I2F.U64 R6, R4", "R6"},
        {"I2F.F64.U32 R6, R4", "R6 R7"},
        {"FFMA2 R8, R2.F32x2.HI_LO, R4.F32x2.HI_LO, R8.F32x2.HI_LO", "R8 R9"},
        {"CS2R R2, SRZ", "R2 R3"},
        {"HMMA.16816.F32 R4, R8, R12, R4", "R4 R5 R6 R7"},
        {"LDG.E R29, desc[UR6][R12.64+-0x1000]", "R29"},
        {"LDG.E.U8.CONSTANT R2, desc[UR4][R2.64]", "R2"},
        {"LDG.E.64.STRONG.SYS R80, desc[UR4][R82.64]", "R80 R81"},
        {"LDG.E.NA.LTC256B.128.CONSTANT R68, desc[UR4][R10.64]", "R68 R69 R70 R71"},
        {"LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64]", "?"},
        {"LDC.64 R2, c[0x0][0x380]", "R2 R3"},
        {"LD.E.128 RZ, desc[UR4][R10.64]", ""},
        {"LDG.E.128 R252, desc[UR4][R10.64]", "R252 R253 R254"},
        {"ATOMG.E.CAS.64.STRONG.GPU P0, R26, [R26+0x6800], R8, R10", "R26 R27 P0"},
        {"ATOMG.E.ADD.F64.RN.STRONG.GPU PT, R14, desc[UR4][R26.64], R14", "R14 R15"},
        {"ATOMG.E.ADD.F32x4.FTZ.RN.STRONG.GPU PT, R8, desc[UR4][R24.64], R8", "?"},
        {"ATOMG.E.ADD.BF16_V2.RN.STRONG.GPU PT, R8, desc[UR4][R24.64], R8", "?"},
        {"ATOM.E.ADD.E4M3x16.RN.STRONG.GPU PT, R8, desc[UR4][R24.64], R8", "?"},
        {"ATOMS.CAST.SPIN P0, [R26+0x5800], R2, R3", "?"},
        {"QSPC.E.S P0, R3, [R26]", "R3 P0"},
        {"SHFL.IDX PT, R0, R9, R6, 0x1f", "R0"},
        {"MATCH.ALL PT, R2, R4", "R2"},
        {"VOTE.ANY R14, PT, P2", "R14 P2"},
        {"VOTEU.ANY UR15, UPT, PT", ""},
        {"ELECT P2, URZ, PT", "P2"},
        {"R2UR UR11, R11.reuse", ""},
        {"R2UR P1, UR11, R11", "P1"},
        {"P2R R3, PR, RZ, 0x7f", "R3"},
        {"LDGSTS.E.BYPASS.128.ZFILL [R27+0x1000], desc[UR6][R24.64], P0", "P0"},
        {"STG.E.64 desc[UR8][R4.64+0x8], R14", ""},
        {"REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R7", ""},
        {"LDCU.64 UR4, c[0x0][0x358]", ""},
        {"UIADD3 UR4, UPT, UPT, -UR4, 0x100000, URZ", ""},
        {"@P0 IADD3 R4, R8, 0x1, RZ", "R4"},
        {"BMOV.32.CLEAR R2, B6", "?"},
        {"LDGMC.E.HPADD.BF16x8.RN.STRONG.SYS R4, [R54.64+URZ]", "?"},
        {"TEX.LL RZ, R7, R6, R4, UR4, 2D, 0x1", "?"},
        {"MOV 0x10, R2", "?"},
        {"MOV R256, R2", "?"},
        {"MOV", "?"},
        {"NEVERSEEN R0, R1", "?"},
    };
    for (const auto& [text, expected] : cases) {
        if (written(text) != expected) std::printf("%s writes %s, not %s\n", text, written(text).c_str(), expected);
        CHECK(written(text) == expected);
    }
}

void control() {
    for (const char* text : {"STG.E desc[UR8][R4.64], R14", "MEMBAR.SC.SYS", "IADD3 R4, R4, 0x10, RZ", "LDS R0, [R2]", "@P0 MOV R2, R3",
                             "NOP", "DEPBAR.LE SB0, 0x0"}) {
        CHECK(!effect(text).ends_block);
        CHECK(!effect(text).anywhere);
        CHECK_EQ(effect(text).targets.size(), 0u);
    }
    // Where other lanes may run behind it than before.
    for (const char* text : {"EXIT", "@P0 EXIT", "RET.REL.NODEC R20 0x0", "CALL.ABS.NOINC R8", "CALL.REL.NOINC R12 0x0", "BSYNC B0",
                             "BSYNC.RECONVERGENT B0", "BREAK.RELIABLE B1", "WARPSYNC.ALL", "WARPSYNC 0xffffffff", "NANOSLEEP 0x3e8",
                             "YIELD", "BAR.SYNC.DEFER_BLOCKING 0x0", "NEVERSEEN", "BPT.TRAP 0x1"}) {
        CHECK(effect(text).ends_block);
        CHECK(!effect(text).anywhere);
    }
    const std::pair<const char*, uint32_t> branches[] = {{"BRA 0x1a0", 0x1a0},
                                                         {"@!P0 BRA P1, 0x390", 0x390},
                                                         {"BRA.U !UP0, 0x1670", 0x1670},
                                                         {"BRA.DIV UR4, 0xffff0", 0xffff0},
                                                         {"BSSY.RECONVERGENT B0, 0x190", 0x190},
                                                         {"WARPSYNC.COLLECTIVE R5, 0x440", 0x440},
                                                         {"CALL.REL.NOINC 0x3330", 0x3330},
                                                         {"NEVERSEEN R2, 0x70", 0x70}};
    for (const auto& [text, target] : branches) {
        CHECK(effect(text).ends_block && !effect(text).anywhere);
        CHECK(effect(text).targets == std::vector<uint32_t>{target});
    }
    // A call returns to where the move says.
    CHECK(effect("MOV R12, 0x1f0").targets == std::vector<uint32_t>{0x1f0});
    CHECK(!effect("MOV R12, 0x1f0").ends_block);
    for (const char* text : {"BRX R2 -0x100", "BRXU UR4 -0x20", "JMX R4 0x0", "JMXU UR4", "BRA `(.L_x_3)", "JMP 0x7f3a00001230", "BRA"})
        CHECK(effect(text).anywhere && effect(text).ends_block);
}

// Straight code, an instruction every 16 bytes, and its accesses.
struct Code {
    std::vector<SassEffect> effects;
    std::vector<uint32_t> offsets;
    std::vector<PackableAccess> accesses;
};

// The pair of registers with the address, if it is a pair and an immediate: "[R2.64+0x10]", "desc[UR4][R2.64]".
std::optional<int> address_of(const SassLine& line) {
    static const std::set<std::string_view> kAccesses = {"LDG", "STG", "LD", "ST", "ATOM", "ATOMG", "RED", "REDG", "LDGSTS"};
    if (kAccesses.count(line.name) == 0) return std::nullopt;
    for (const std::string_view operand : line.operands) {
        const size_t open = operand.rfind("[R");
        if (open == operand.npos || operand.find(".64", open) == operand.npos || operand.find("UR", open) != operand.npos) continue;
        if (operand.substr(open, 3) != "[RZ") return std::stoi(std::string(operand.substr(open + 2)));
    }
    return std::nullopt;
}

void add_line(Code* code, const std::string& text, uint32_t offset) {
    const auto line = parse_sass(text);
    CHECK(line.has_value());
    if (const std::optional<int> reg = address_of(*line); reg && !line->guard_uniform)
        code->accesses.push_back({code->effects.size(), *reg, line->guard, line->guard_negated});
    code->effects.push_back(effect_of(*line));
    code->offsets.push_back(offset);
}

// The calls as "place: accesses", all as numbers of instructions.
std::string packs_of(const std::vector<std::string>& lines, size_t most = 8) {
    Code code;
    for (size_t i = 0; i < lines.size(); ++i) add_line(&code, lines[i], static_cast<uint32_t>(16 * i));
    std::string text;
    for (const Pack& pack : pack_accesses(code.effects, block_begins(code.effects, code.offsets), code.accesses, most)) {
        text += (text.empty() ? "" : "; ") + std::to_string(pack.instruction) + ":";
        for (const size_t access : pack.accesses) text += " " + std::to_string(code.accesses[access].instruction);
    }
    return text;
}

void by_hand() {
    const std::string load = "LDG.E R0, desc[UR4][R2.64]";
    const std::string other = "LDG.E R1, desc[UR4][R4.64+0x8]";
    const std::string store = "STG.E desc[UR4][R6.64], R0";
    CHECK_EQ(packs_of({}), "");
    CHECK_EQ(packs_of({"EXIT"}), "");
    CHECK_EQ(packs_of({load, other, store, "EXIT"}), "0: 0 1 2");
    CHECK_EQ(packs_of({load, other, store, "EXIT"}, 2), "0: 0 1; 2: 2");
    CHECK_EQ(packs_of({load, other, store, "EXIT"}, 1), "0: 0; 1: 1; 2: 2");
    CHECK_EQ(packs_of({load, load, load, load, load}, 2), "0: 0 1; 2: 2 3; 4: 4");
    // The address is known late: the call comes behind the first access, which left its own as it was.
    CHECK_EQ(packs_of({load, "IMAD.WIDE R6, R8, 0x4, R10", store, "EXIT"}), "2: 0 2");
    // A load into its own address, of the lower and of the upper half.
    CHECK_EQ(packs_of({"LDG.E.64 R2, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64], R0", "EXIT"}), "0: 0; 1: 1");
    CHECK_EQ(packs_of({"LDG.E R3, desc[UR4][R2.64]", "IMAD.WIDE R6, R8, 0x4, R10", store, "EXIT"}), "0: 0; 2: 2");
    CHECK_EQ(packs_of({"LDG.E.64 R2, desc[UR4][R2.64]", store, "EXIT"}), "0: 0 1");
    // A new address in the same registers.
    CHECK_EQ(packs_of({load, "IADD3 R2, P0, R2, 0x4, RZ", load, "EXIT"}), "0: 0; 2: 2");
    CHECK_EQ(packs_of({load, "IADD3.X R3, R3, RZ, RZ, P0, !PT", load, "EXIT"}), "0: 0; 2: 2");
    CHECK_EQ(packs_of({load, "IADD.64 R2, R2, 0x4", load, "EXIT"}), "0: 0; 2: 2");
    CHECK_EQ(packs_of({load, "@P0 MOV R3, R9", load, "EXIT"}), "0: 0; 2: 2");
    CHECK_EQ(packs_of({load, "MOV R1, R2", load, "EXIT"}), "0: 0 2");
    CHECK_EQ(packs_of({load, "LDS.128 R0, [R9]", load, "EXIT"}), "0: 0; 2: 2");
    // Guards: one, as long as nothing writes it, and accesses without any.
    CHECK_EQ(packs_of({"@P0 " + load, "@P0 " + other, "EXIT"}), "0: 0 1");
    CHECK_EQ(packs_of({"@P0 " + load, "@!P0 " + other, "EXIT"}), "0: 0; 1: 1");
    CHECK_EQ(packs_of({"@P0 " + load, "@P1 " + other, load, "EXIT"}), "0: 0 2; 1: 1");
    CHECK_EQ(packs_of({"@P0 " + load, "@!PT " + other, "EXIT"}), "0: 0; 1: 1");
    CHECK_EQ(packs_of({load, "ISETP.NE.AND P0, PT, R9, RZ, PT", "@P0 " + other, "@!P0 " + store, "EXIT"}), "2: 0 2; 3: 3");
    CHECK_EQ(packs_of({"@P0 " + load, "ISETP.NE.AND P0, PT, R9, RZ, PT", "@P0 " + other, "EXIT"}), "0: 0; 2: 2");
    CHECK_EQ(packs_of({"@P0 " + load, "R2P PR, R9, 0x7f", "@P0 " + other, "EXIT"}), "0: 0; 2: 2");
    CHECK_EQ(packs_of({"@P0 " + load, "ISETP.NE.AND P1, PT, R9, RZ, PT", "@P0 " + other, "EXIT"}), "0: 0 2");
    CHECK_EQ(packs_of({load, "ISETP.NE.AND P0, PT, R9, RZ, PT", other, "EXIT"}), "0: 0 2");
    CHECK_EQ(packs_of({"@P0 " + load, other, "@P0 " + store, "EXIT"}), "0: 0 1 2");
    // Basic blocks: places that are branched to, and instructions behind which other lanes run.
    CHECK_EQ(packs_of({load, other, "@P0 BRA 0x10", "EXIT"}), "0: 0; 1: 1");
    CHECK_EQ(packs_of({"@P0 BRA 0x20", load, other, "EXIT"}), "1: 1; 2: 2");
    CHECK_EQ(packs_of({"BSSY B0, 0x20", load, "BSYNC B0", other, "EXIT"}), "1: 1; 3: 3");
    CHECK_EQ(packs_of({"MOV R12, 0x20", load, other, "EXIT"}), "1: 1; 2: 2");
    CHECK_EQ(packs_of({load, "CALL.REL.NOINC 0x50", other, "EXIT", "NOP", "RET.REL.NODEC R12 0x0"}), "0: 0; 2: 2");
    for (const char* border :
         {"@P0 EXIT", "@P0 BRA 0x30", "WARPSYNC.ALL", "BAR.SYNC.DEFER_BLOCKING 0x0", "BSYNC B0", "NANOSLEEP 0x10", "NEVERSEEN R80, R81",
          "SYNCS.ARRIVE.TRANS64 RZ, [UR6], R20", "LDGMC.E.HPADD.BF16x8.RN.STRONG.SYS R80, [R54.64+URZ]"})
        CHECK_EQ(packs_of({load, border, other, "EXIT"}).substr(0, 5), "0: 0;");
    for (const char* harmless : {"MEMBAR.SC.GPU", "STS [R9], R0", "ULDC UR4, c[0x0][0x28]", "DEPBAR.LE SB0, 0x0", "LDGDEPBAR", "NOP"})
        CHECK_EQ(packs_of({load, harmless, other, "EXIT"}), "0: 0 2");
    // Where control can go anywhere, every place may be branched to.
    CHECK_EQ(packs_of({load, other, "EXIT", "BRX R9 -0x100"}), "0: 0; 1: 1");
}

// --- Code of real kernels, with what nvdisasm says of it ---

struct Listed {
    uint32_t offset = 0;
    bool target = false;
    std::set<std::string> assigned;  // "R2", "P0"
    std::string text;
};

struct ListedFunction {
    std::string name;
    std::vector<Listed> lines;
};

std::vector<ListedFunction> listing() {
    std::vector<ListedFunction> functions;
    std::istringstream text(test::read("listing.txt"));
    for (std::string line; std::getline(text, line);) {
        if (line.rfind("# ", 0) == 0) {
            functions.push_back({line.substr(2), {}});
            continue;
        }
        Listed listed;
        std::string offset, assigned;
        std::istringstream words(line);
        words >> offset >> assigned >> std::ws;
        std::getline(words, listed.text);
        listed.target = offset.back() == '*';
        listed.offset = static_cast<uint32_t>(std::stoul(offset, nullptr, 16));
        std::istringstream names(assigned == "-" ? "" : assigned);
        for (std::string name; std::getline(names, name, ',');) listed.assigned.insert(name);
        functions.back().lines.push_back(listed);
    }
    functions.erase(std::remove_if(functions.begin(), functions.end(), [](const auto& function) { return function.lines.empty(); }),
                    functions.end());
    return functions;
}

std::string register_name(int number) { return "R" + std::to_string(number); }

bool is_control(const std::string& text) {
    std::istringstream words(text);
    std::string name;
    while (words >> name && name[0] == '@') continue;
    name = name.substr(0, name.find('.'));
    static const std::set<std::string> kControl = {"BRA",  "BRX", "BRXU",  "JMP",   "JMX",      "CALL",  "RET",       "EXIT",
                                                   "KILL", "BPT", "BSYNC", "BREAK", "WARPSYNC", "YIELD", "NANOSLEEP", "BAR"};
    return kControl.count(name) > 0;
}

void listed_effects(const std::vector<ListedFunction>& functions) {
    size_t lines = 0;
    size_t unknown = 0;
    for (const ListedFunction& function : functions) {
        std::set<uint32_t> targets;
        bool anywhere = false;
        for (const Listed& listed : function.lines) {
            const SassEffect known = effect(listed.text);
            ++lines;
            unknown += known.unknown;
            targets.insert(known.targets.begin(), known.targets.end());
            anywhere |= known.anywhere;
            if (is_control(listed.text)) CHECK(known.ends_block);
            if (known.unknown || is_control(listed.text)) continue;  // a call assigns what it is not asked for
            std::set<std::string> names;
            for (size_t i = 0; i < known.registers.size(); ++i)
                if (known.registers[i]) names.insert(register_name(static_cast<int>(i)));
            for (int i = 0; i < 7; ++i)
                if (known.predicates >> i & 1) names.insert("P" + std::to_string(i));
            const bool all = std::includes(names.begin(), names.end(), listed.assigned.begin(), listed.assigned.end());
            if (!all) std::printf("%s %x: %s\n", function.name.c_str(), listed.offset, listed.text.c_str());
            CHECK(all);
        }
        for (const Listed& listed : function.lines)
            if (listed.target && !anywhere) CHECK(targets.count(listed.offset) == 1);
    }
    CHECK(lines > 5000);
    CHECK(unknown < lines / 50);
}

// Whether what the call before `place` is told of the access is what holds at the access, by the same lanes.
bool right_place(const std::vector<Listed>& lines, size_t place, const PackableAccess& access) {
    const size_t begin = std::min(place, access.instruction);
    const size_t end = std::max(place, access.instruction);
    for (size_t i = begin; i < end; ++i) {
        if (is_control(lines[i].text) || lines[i + 1].target) return false;
        for (const std::string& name : {register_name(access.reg), register_name(access.reg + 1), "P" + std::to_string(access.guard)})
            if (lines[i].assigned.count(name)) return false;
    }
    return true;
}

void listed_packs(const std::vector<ListedFunction>& functions) {
    for (const size_t most : {1, 2, 5, 16}) {
        size_t calls = 0;
        size_t accesses = 0;
        for (const ListedFunction& function : functions) {
            Code code;
            for (const Listed& listed : function.lines) add_line(&code, listed.text, listed.offset);
            std::vector<int> seen(code.accesses.size(), 0);
            for (const Pack& pack : pack_accesses(code.effects, block_begins(code.effects, code.offsets), code.accesses, most)) {
                ++calls;
                CHECK(!pack.accesses.empty() && pack.accesses.size() <= most);
                CHECK(std::is_sorted(pack.accesses.begin(), pack.accesses.end()));
                std::set<std::pair<int, bool>> guards;
                for (const size_t i : pack.accesses) {
                    const PackableAccess& access = code.accesses[i];
                    ++seen[i];
                    if (access.guarded()) guards.insert({access.guard, access.guard_negated});
                    const bool right = right_place(function.lines, pack.instruction, access);
                    if (!right)
                        std::printf("%s: %x before %x\n", function.name.c_str(), code.offsets[access.instruction],
                                    code.offsets[pack.instruction]);
                    CHECK(right);
                }
                CHECK(guards.size() <= 1);
            }
            accesses += code.accesses.size();
            CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
        }
        CHECK(accesses > 500);
        if (most == 1) CHECK_EQ(calls, accesses);
        if (most == 16) CHECK(calls < accesses * 2 / 3);
    }
}

// --- The fewest calls ---

// Places before instructions, both included, by walking from the access both ways.
std::pair<size_t, size_t> places(const std::vector<SassEffect>& effects, const std::vector<uint32_t>& targets,
                                 const PackableAccess& access) {
    const auto passes = [&](size_t i) {  // from before an instruction to behind it
        const bool target = std::count(targets.begin(), targets.end(), 16 * (i + 1)) > 0;
        const SassEffect& effect = effects[i];
        const bool guard = access.guard < 7 && (effect.predicates >> access.guard & 1);
        const auto reg = static_cast<size_t>(access.reg);
        return !target && !guard && !effect.unknown && !effect.ends_block && !effect.registers[reg] && !effect.registers[reg + 1];
    };
    size_t first = access.instruction;
    size_t last = access.instruction;
    while (first > 0 && passes(first - 1)) --first;
    while (last + 1 < effects.size() && passes(last)) ++last;
    return {first, last};
}

// For accesses that all fit into one call.
size_t fewest(const std::vector<std::pair<size_t, size_t>>& intervals, size_t most) {
    std::map<size_t, size_t> at;  // place → accesses
    size_t best = intervals.size();
    const std::function<void(size_t)> choose = [&](size_t i) {
        if (i == intervals.size()) {
            size_t calls = 0;
            for (const auto& entry : at) calls += (entry.second + most - 1) / most;
            best = std::min(best, calls);
            return;
        }
        for (size_t place = intervals[i].first; place <= intervals[i].second; ++place) {
            ++at[place];
            choose(i + 1);
            --at[place];
        }
    };
    choose(0);
    return best;
}

void fewest_calls() {
    std::mt19937 random(1);
    const auto one_in = [&](unsigned n) { return random() % n == 0; };
    size_t shared = 0;
    for (int round = 0; round < 500; ++round) {
        const size_t size = 2 + random() % 7;
        const size_t most = 1 + random() % 4;
        const bool negated = one_in(2);
        std::vector<SassEffect> effects(size);
        std::vector<uint32_t> offsets;
        std::vector<uint32_t> targets;
        std::vector<PackableAccess> accesses;
        for (size_t i = 0; i < size; ++i) {
            offsets.push_back(static_cast<uint32_t>(16 * i));
            effects[i].unknown = one_in(20);
            effects[i].ends_block = effects[i].unknown || one_in(12);
            if (one_in(2)) effects[i].registers.set(random() % 6);
            if (one_in(5)) effects[i].predicates = static_cast<uint8_t>(1u << random() % 2);
            if (one_in(15)) {
                effects[i].targets.push_back(static_cast<uint32_t>(16 * (random() % size)));
                targets.push_back(effects[i].targets.front());
            }
            if (accesses.size() < 5 && !one_in(3)) {
                const bool guarded = one_in(3);
                accesses.push_back({i, static_cast<int>(2 * (random() % 3)), guarded ? 0 : SassLine::kAlways, guarded && negated});
            }
        }
        std::vector<std::pair<size_t, size_t>> intervals;
        for (const PackableAccess& access : accesses) intervals.push_back(places(effects, targets, access));
        const std::vector<Pack> packs = pack_accesses(effects, block_begins(effects, offsets), accesses, most);
        CHECK_EQ(packs.size(), fewest(intervals, most));
        shared += packs.size() < accesses.size();
        for (const Pack& pack : packs)
            for (const size_t i : pack.accesses) CHECK(intervals[i].first <= pack.instruction && pack.instruction <= intervals[i].second);
    }
    CHECK(shared > 100);
}

}  // namespace

int main() {
    parsing();
    results();
    control();
    by_hand();
    const std::vector<ListedFunction> functions = listing();
    CHECK(functions.size() > 100);
    listed_effects(functions);
    listed_packs(functions);
    fewest_calls();
    return test::summary("packing");
}
