#include "code/sass.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "code/sass_words.h"

namespace snoopie {

namespace {

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

std::optional<int> number_of(std::string_view text, std::string_view prefix) {
    if (text.substr(0, prefix.size()) != prefix) return std::nullopt;
    text.remove_prefix(prefix.size());
    int number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
    return number;
}

// R12, with .reuse and the like behind it.
std::optional<int> general_register(std::string_view operand) {
    operand = operand.substr(0, operand.find('.'));
    if (operand == "RZ") return 255;
    const std::optional<int> number = number_of(operand, "R");
    return number && *number >= 0 && *number < 255 ? number : std::nullopt;
}

std::optional<int> predicate(std::string_view operand) {
    if (operand == "PT") return SassLine::kAlways;
    const std::optional<int> number = number_of(operand, "P");
    return number && *number >= 0 && *number < 7 ? number : std::nullopt;
}

bool is_uniform(std::string_view operand) {
    return operand == "URZ" || operand == "UPT" || number_of(operand, "UR") || number_of(operand, "UP");
}

template <size_t N>
constexpr std::array<std::string_view, N> names(const std::string_view (&list)[N]) {
    std::array<std::string_view, N> result;
    for (size_t i = 0; i < N; ++i) result[i] = list[i];
    return result;
}

// How many registers the result takes, if the modifiers name no wider type; where that depends on modifiers that are not looked at, the
// most.
constexpr auto kOneRegister = names(
    {"BMSK",    "BREV", "F2F",    "F2FP",     "F2I",       "FADD",  "FADD32I",   "FFMA",   "FFMA32I", "FLO",   "FMNMX", "FMNMX3", "FMUL",
     "FMUL32I", "FRND", "FSEL",   "FSET",     "FSWZADD",   "HADD2", "HFMA2",     "HMNMX2", "HMUL2",   "HSET2", "I2F",   "I2FP",   "I2IP",
     "IABS",    "IADD", "IADD3",  "IADD32I",  "IDP",       "IMAD",  "IMNMX",     "IMUL",   "ISCADD",  "LEA",   "LOP",   "LOP3",   "LOP32I",
     "MATCH",   "MOV",  "MOV32I", "MOVM",     "MUFU",      "P2R",   "POPC",      "PRMT",   "QSPC",    "S2R",   "SEL",   "SGXT",   "SHF",
     "SHFL",    "SHL",  "SHR",    "VABSDIFF", "VABSDIFF4", "VIADD", "VIADDMNMX", "VIMNMX", "VIMNMX3", "VOTE"});
constexpr auto kTwoRegisters = names({"CS2R", "DADD", "DFMA", "DMNMX", "DMUL", "FADD2", "FFMA2", "FMUL2"});
constexpr auto kFourRegisters = names({"HMMA", "IMMA", "LDSM"});
// Predicates or uniform registers alone.
constexpr auto kNoRegister = names({"CREDUX", "CSETP", "DSETP", "ELECT", "FCHK", "FSETP", "HSETP2", "ISETP", "LDGSTS", "PLOP3", "PSETP",
                                    "R2UR", "REDUX", "S2UR", "VOTEU"});
// As many as the modifiers say.
constexpr auto kLoads = names({"ATOM", "ATOMG", "ATOMS", "LD", "LDC", "LDG", "LDL", "LDS"});
// Nothing that a packed access depends on: stores, waiting for memory, which leaves registers and the lanes that run as they are, and the
// uniform datapath.
constexpr auto kNothing =
    names({"ACQBULK", "CCTL",   "CCTLL", "CGAERRBAR", "DEPBAR", "ERRBAR", "FENCE",  "LDCU",  "LDGDEPBAR", "MEMBAR", "NOP",   "PREEXIT",
           "RED",     "REDG",   "REDS",  "ST",        "STG",    "STL",    "STS",    "STSM",  "UBMSK",     "UBREV",  "UFLO",  "UIADD3",
           "UIMAD",   "UISETP", "ULDC",  "ULEA",      "ULOP3",  "UMOV",   "UPLOP3", "UPOPC", "UPRMT",     "USEL",   "USGXT", "USHF"});
// Control goes on elsewhere, or other lanes may run behind it. Those in the first list name where.
constexpr auto kBranches = names({"BRA", "BSSY", "JMP"});
constexpr auto kBorders = names({"BAR", "BREAK", "BRX", "BRXU", "BSYNC", "CALL", "EXIT", "KILL", "NANOSLEEP", "RET", "WARPSYNC", "YIELD"});

// Of the type that the modifiers name. SHF.L.U64.HI is the upper half of a shift; a conversion names the type of its source, too:
// F2I.U32.F64, I2F.F64.U32, F2F.F32.F64.
int registers_of_type(const SassLine& line) {
    if (has(line.modifiers, "128")) return 4;
    if (line.name == "SHF") return 1;
    if (line.name == "F2I") return has(line.modifiers, "U64") || has(line.modifiers, "S64") ? 2 : 1;
    if (line.name == "I2F") return has(line.modifiers, "F64") ? 2 : 1;
    if (line.name == "F2F") return line.modifiers.substr(0, 3) == "F64" ? 2 : 1;
    for (const std::string_view wide : {"64", "U64", "S64", "F64", "WIDE"})
        if (has(line.modifiers, wide)) return 2;
    return 1;
}

// Of a vector (F32x4, BF16_V2), and of 256 bits in two results, they are not known.
bool is_vector(std::string_view modifiers) {
    if (has(modifiers, "256") || modifiers.find("_V") != modifiers.npos) return true;
    for (size_t i = 1; i + 1 < modifiers.size(); ++i) {
        const auto digit = [](char c) { return c >= '0' && c <= '9'; };
        if ((modifiers[i] == 'x' || modifiers[i] == 'X') && digit(modifiers[i + 1])) return true;
    }
    return false;
}

std::optional<int> registers_of(const SassLine& line) {
    if (one_of(line.name, kOneRegister)) return registers_of_type(line);
    if (one_of(line.name, kTwoRegisters)) return 2;
    if (one_of(line.name, kFourRegisters)) return 4;
    if (one_of(line.name, kNoRegister)) return 0;
    if (one_of(line.name, kLoads) && !is_vector(line.modifiers)) return registers_of_type(line);
    return std::nullopt;
}

// Places in the function that an instruction names, as offsets. Where a call returns to is in a register that a move has filled.
std::vector<uint32_t> places_in(const SassLine& line) {
    std::vector<uint32_t> places;
    for (const std::string_view operand : line.operands) {
        uint32_t place = 0;
        if (operand.substr(0, 2) != "0x") continue;
        const auto [stop, error] = std::from_chars(operand.data() + 2, operand.data() + operand.size(), place, 16);
        if (error == std::errc() && stop == operand.data() + operand.size()) places.push_back(place);
    }
    return places;
}

// The results stand first: predicates, and at most one register with those behind it. Sources that are predicates stand behind sources
// that are registers, so taking every predicate before the register for a result is right, and those behind one too many.
bool write_results(const SassLine& line, int registers, SassEffect* effect) {
    bool found = registers == 0;
    for (const std::string_view operand : line.operands) {
        if (const std::optional<int> p = predicate(operand)) {
            if (*p != SassLine::kAlways) effect->predicates |= static_cast<uint8_t>(1u << *p);
            continue;
        }
        if (found) continue;
        if (const std::optional<int> r = general_register(operand)) {
            for (int i = 0; *r != 255 && i < registers && *r + i < 255; ++i) effect->registers.set(static_cast<size_t>(*r + i));
            found = true;
            continue;
        }
        if (is_uniform(operand)) {  // the result is a uniform register
            found = true;
            continue;
        }
        return false;
    }
    return found;
}

}  // namespace

std::optional<SassLine> parse_sass(std::string_view text) {
    SassLine line;
    text = trimmed(text.substr(0, text.find(';')));
    if (!text.empty() && text.front() == '@') {
        const size_t end = text.find(' ');
        if (end == text.npos) return std::nullopt;
        std::string_view guard = text.substr(1, end - 1);
        text = trimmed(text.substr(end));
        if (!guard.empty() && guard.front() == '!') {
            line.guard_negated = true;
            guard.remove_prefix(1);
        }
        if (!guard.empty() && guard.front() == 'U') {
            line.guard_uniform = true;
            guard.remove_prefix(1);
        }
        const std::optional<int> number = predicate(guard);
        if (!number) return std::nullopt;
        line.guard = *number;
    }
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view opcode = text.substr(0, end);
    const size_t dot = std::min(opcode.find('.'), opcode.size());
    line.name = opcode.substr(0, dot);
    line.modifiers = opcode.substr(std::min(dot + 1, opcode.size()));
    if (line.name.empty()) return std::nullopt;
    text = trimmed(text.substr(end));
    while (!text.empty()) {
        // Commas within brackets belong to the operand.
        size_t comma = 0;
        int depth = 0;
        while (comma < text.size() && (depth > 0 || text[comma] != ',')) {
            if (text[comma] == '[' || text[comma] == '(') ++depth;
            if (text[comma] == ']' || text[comma] == ')') --depth;
            ++comma;
        }
        line.operands.push_back(trimmed(text.substr(0, comma)));
        text = trimmed(text.substr(std::min(comma + 1, text.size())));
    }
    return line;
}

SassEffect effect_of(const SassLine& line) {
    SassEffect effect;
    const bool branch = one_of(line.name, kBranches);
    const std::optional<int> registers = registers_of(line);
    effect.predicates = line.name == "R2P" ? 0x7f : 0;
    effect.unknown = !branch && !one_of(line.name, kBorders) && !one_of(line.name, kNothing) && line.name != "R2P" &&
                     !(registers && write_results(line, *registers, &effect));
    effect.ends_block = effect.unknown || branch || one_of(line.name, kBorders);
    if (effect.ends_block || line.name == "MOV") effect.targets = places_in(line);
    // What is not known could be a branch as well: only the names of those that go anywhere tell.
    effect.anywhere = (branch && effect.targets.empty()) || line.name.substr(0, 3) == "BRX" || line.name.substr(0, 3) == "JMX";
    return effect;
}

std::vector<bool> block_begins(const std::vector<SassEffect>& effects, const std::vector<uint32_t>& offsets) {
    std::set<uint32_t> targets;
    for (const SassEffect& effect : effects) {
        if (effect.anywhere) return {};
        targets.insert(effect.targets.begin(), effect.targets.end());
    }
    std::vector<bool> begins(effects.size(), false);
    for (size_t i = 0; i < effects.size(); ++i) begins[i] = i == 0 || effects[i - 1].ends_block || targets.count(offsets[i]) > 0;
    return begins;
}

}  // namespace snoopie
