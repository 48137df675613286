// What an instruction does to registers while kernel parameters are followed; see roots.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "code/followed_stack.h"
#include "code/followed_values.h"
#include "code/roots.h"
#include "code/sass.h"
#include "code/sass_operands.h"

namespace snoopie::following {

// One word of a source: a register, or a value that is known.
struct Word {
    size_t reg = kZero;
    Id value = kScalar;
};

enum class Use { moved, added, mixed, used, index };

struct Term {
    Word word;
    Use use = Use::used;
    Times times = {};       // what it is multiplied by
    bool by_other = false;  // by the other of the first two terms
};

struct Write {
    size_t reg = 0;
    std::vector<Term> terms;  // the register then holds what these do
    bool unknown = false;
    bool joins = false;    // it may not be written: what was there can stay
    bool one_of = false;   // it holds one of the terms, not their sum
    bool smaller = false;  // than each of the first two
    bool counts = false;   // by ones if one of the terms does
};

constexpr int kNoGuard = -1;

struct Step {
    std::vector<Write> writes;
    bool all_unknown = false;  // it may write anything
    int guard = kNoGuard;      // the predicate under which it runs, twice its number and one more if negated
    uint8_t predicates = 0;    // that it writes
    bool joins = false;        // the same of all
};

// Sources reach the result as they are.
constexpr std::array<std::string_view, 24> kSums = {"MOV",    "MOV32I", "UMOV",   "IADD",    "IADD3",  "IADD32I", "VIADD", "UVIADD",
                                                    "UIADD3", "SEL",    "FSEL",   "USEL",    "LOP3",   "LOP32I",  "ULOP3", "PRMT",
                                                    "UPRMT",  "IMNMX",  "VIMNMX", "VIMNMX3", "UIMNMX", "UVIMNMX", "R2UR",  "VIADDMNMX"};
constexpr std::array<std::string_view, 3> kChoices = {"SEL", "FSEL", "USEL"};
// Whether their results are sums, or one of the sources, and not made of their bits.
constexpr std::array<std::string_view, 13> kPlain = {"MOV",    "MOV32I", "UMOV", "IADD", "IADD3", "IADD32I", "VIADD",
                                                     "UVIADD", "UIADD3", "SEL",  "FSEL", "USEL",  "R2UR"};
constexpr std::array<std::string_view, 2> kProducts = {"IMAD", "UIMAD"};
constexpr std::array<std::string_view, 2> kShiftedSums = {"LEA", "ULEA"};
constexpr std::array<std::string_view, 3> kConversions = {"F2I", "I2F", "F2F"};
// A result of 32 bits is an index, or one half of a pointer.
constexpr std::array<std::string_view, 6> kNumbers = {"LDS", "LDL", "LD", "ATOM", "ATOMG", "ATOMS"};
// So is each 32 bits of more.
constexpr std::array<std::string_view, 4> kLoads = {"LDG", "LDS", "LDL", "LD"};
constexpr std::array<std::string_view, 3> kParameterLoads = {"LDC", "ULDC", "LDCU"};
// Indices, clocks, masks of lanes.
constexpr std::array<std::string_view, 13> kScalars = {"S2R",   "CS2R",  "S2UR",  "CS2UR", "P2R", "UP2UR", "VOTE",
                                                       "VOTEU", "MATCH", "ELECT", "POPC",  "FLO", "LEPC"};
// Uniform results of other kinds: of integers and floating-point numbers.
constexpr std::array<std::string_view, 21> kUniformArithmetic = {"USHF",  "UBMSK",  "UBREV", "UFLO",  "UPOPC", "USGXT", "ULEPC",
                                                                 "REDUX", "CREDUX", "UFADD", "UFMUL", "UFFMA", "UI2F",  "UF2I",
                                                                 "UI2FP", "UFRND",  "UFSEL", "UIABS", "UF2F",  "UF2FP", "UFMNMX"};
// Moves of numbers that can be places to return to.
constexpr std::array<std::string_view, 6> kHolding = {"MOV", "MOV32I", "UMOV", "IMAD", "SEL", "USEL"};
// No register, general or uniform.
constexpr std::array<std::string_view, 75> kNoResult = {
    "ACQBULK",   "BAR",          "BREAK",       "BSYNC",        "BSSY",          "CCTL",      "CCTLL",    "CGAERRBAR",  "DEPBAR",
    "ERRBAR",    "EXIT",         "FENCE",       "KILL",         "LDGDEPBAR",     "LDGSTS",    "MEMBAR",   "NANOSLEEP",  "NOP",
    "PREEXIT",   "RED",          "REDG",        "REDS",         "RET",           "ST",        "STAS",     "STG",        "STL",
    "STS",       "STSM",         "REDAS",       "BRA",          "JMP",           "WARPSYNC",  "YIELD",    "ISETP",      "FSETP",
    "DSETP",     "HSETP2",       "PLOP3",       "PSETP",        "CSETP",         "FCHK",      "R2P",      "UISETP",     "UPLOP3",
    "UPSETP",    "UFSETP",       "UTMALDG",     "UTMASTG",      "UTMAREDG",      "UTMAPF",    "UTMACCTL", "UBLKCP",     "UBLKRED",
    "UBLKPF",    "UTMACMDFLUSH", "UCGABAR_ARV", "UCGABAR_WAIT", "USETMAXREG",    "WARPGROUP", "BPT",      "UTCBAR",     "UTCHMMA",
    "UTCQMMA",   "UTCCP",        "STTM",        "SUST",         "ENDCOLLECTIVE", "UTCIMMA",   "UTCOMMA",  "UVIRTCOUNT", "UGETNEXTWORKID",
    "USETSHMSZ", "BRX",          "BRXU"};

// Which instruction, by its place in the listing, reads which 4-byte word of the parameters: no value has a word in it but by these.
using Reads = std::vector<std::pair<size_t, uint16_t>>;

class Translator {
  public:
    // `places`: the instructions' offsets. `stack`: whether what lies in the stack is followed.
    Translator(const std::optional<ParameterArea>& area, const std::unordered_map<uint32_t, size_t>& places, bool stack, Values* values,
               Reads* reads)
        : area_(area), places_(places), stack_(stack), values_(*values), reads_(*reads), any_pair_(values_.id_of(any_pair_value())) {}

    // `at`: its place in the listing.
    Step step_of(const SassLine& line, const SassEffect& effect, size_t at) {
        Step step;
        at_ = at;
        step.joins = line.guard != SassLine::kAlways || line.guard_negated;
        if (step.joins && line.guard != SassLine::kAlways && !line.guard_uniform) step.guard = 2 * line.guard + line.guard_negated;
        step.predicates = effect.unknown ? 0x7f : effect.predicates;
        if (stack_ && line.name == "STL") store_in_stack(line, &step);
        if (write_barrier(line, &step) || one_of(line.name, kNoResult) || line.name == "CALL") return step;
        size_t first = 0;  // the result, behind predicates
        while (first < line.operands.size() && is_predicate(line.operands[first])) ++first;
        std::optional<size_t> result;
        if (first < line.operands.size()) result = register_of(line.operands[first]);
        const std::vector<std::string_view> sources = sources_of(line, first + 1);
        const bool uniform = result && (*result >= kUniform && (*result != kZero || begins_with(line.operands[first], "U")));
        if (uniform)
            write_uniform(line, *result, sources, &step);
        else if (!effect.unknown)
            write_general(line, effect, sources, &step);
        else
            write_unknown(line, first, &step);
        return step;
    }

    // `pair`: both words of 64 bits are read.
    Id constant(std::string_view text, uint32_t word, bool pair) const {
        const auto found = constant_of(text);
        if (!found || !found->parameters || !area_) return kUnknown;
        // One of 32 bits is like one that is loaded from memory.
        if (found->indexed) return pair ? any_pair_ : kPart;
        const uint32_t offset = found->offset + 4 * word;
        // Below the parameters is what the driver tells every kernel: sizes of the grid, the stack, caching policies.
        if (const auto address = address_word(offset)) return values_.id_of(word_value(kAreaAddress + *address));
        if (offset < area_->base) return kScalar;
        if (offset >= area_->base + area_->bytes) return kUnknown;
        const auto read = static_cast<uint16_t>((offset - area_->base) / 4);
        reads_.push_back({at_, read});
        return values_.id_of(word_value(read));
    }

  private:
    // Where the driver tells the parameters' own address, from which code that copies by tensor maps makes those of its maps: by where the
    // parameters begin, which is the same for all GPUs of a generation.
    std::optional<uint16_t> address_word(uint32_t offset) const {
        const uint32_t place = area_->base == 0x210 ? 0x198 : area_->base == 0x380 ? 0x348 : 0;
        if (place == 0 || offset < place || offset >= place + 8) return std::nullopt;
        return static_cast<uint16_t>((offset - place) / 4);
    }

    static std::vector<std::string_view> sources_of(const SassLine& line, size_t from) {
        std::vector<std::string_view> sources;
        for (size_t i = from; i < line.operands.size(); ++i)
            if (!is_predicate(line.operands[i])) sources.push_back(bare(line.operands[i]));
        return sources;
    }

    // A barrier holds the place where its lanes go on; it can be saved in a register.
    bool write_barrier(const SassLine& line, Step* step) const {
        if (line.operands.size() != 2) return false;
        const auto to = barrier_of(line.operands[0]);
        const auto from = barrier_of(line.operands[1]);
        const bool moves = line.name == "BMOV" && has(line.modifiers, "32");
        const auto write = [&](size_t reg, Term term) {
            step->writes.push_back({reg, {term}, false, false});
            return true;
        };
        if (line.name == "BSSY" && to) {
            const auto place = immediate(line.operands[1]);
            const bool known = place && places_.count(*place);
            return write(*to, {{kZero, known ? values_.id_of(place_value(*place)) : kUnknown}, Use::moved});
        }
        if (const auto reg = register_of(line.operands[1]); moves && to && reg) return write(*to, {{*reg, kScalar}, Use::moved});
        if (const auto reg = register_of(line.operands[0]); moves && from && reg && *reg != kZero)
            return write(*reg, {{*from, kScalar}, Use::moved});
        return false;
    }

    // One 32-bit word of a source, from its lowest.
    Word word_of(std::string_view source, uint32_t word) const {
        if (const auto reg = register_of(source)) return {*reg == kZero ? kZero : std::min<size_t>(*reg + word, kRegisters - 1), kScalar};
        if (constant_of(source)) return {kZero, constant(source, word, false)};
        if (begins_with(source, "[") || begins_with(source, "desc") || begins_with(source, "gdesc")) return {kZero, kUnknown};
        return {};  // an immediate
    }
    void add(std::string_view source, uint32_t word, Use use, Write* write) const {
        Word found = word_of(source, word);
        if (const auto place = immediate(source); place && use == Use::moved && word == 0 && places_.count(*place))
            found.value = values_.id_of(place_value(*place));
        if (found.reg != kZero || found.value != kScalar) write->terms.push_back({found, use});
    }

    static Times shifted_by(uint32_t bits) { return bits <= kMostShift ? Times{Times::Kind::shift, static_cast<uint16_t>(bits)} : Times{}; }
    // Of an immediate factor.
    static Times times_of(std::string_view source) {
        const auto factor = immediate(source);
        for (uint32_t bits = 0; factor && bits <= kMostShift; ++bits)
            if (*factor == 1u << bits) return shifted_by(bits);
        return {};
    }

    // For which there is a term.
    bool is_value(std::string_view source) const {
        const Word word = word_of(source, 0);
        return word.reg != kZero || word.value != kScalar;
    }

    // I2F.F64.U32 and F2I.U64 take one register, I2F.U64, F2I.U32.F64 and F2F.F32.F64 two.
    static bool converts_pair(const SassLine& line) {
        if (line.name == "I2F") return has(line.modifiers, "U64") || has(line.modifiers, "S64");
        return has(line.modifiers, "F64") && !(line.name == "F2F" && has(line.modifiers, "F32") && begins_with(line.modifiers, "F64"));
    }

    // Results of `count` registers from `reg` on.
    void arithmetic(const SassLine& line, size_t reg, size_t count, const std::vector<std::string_view>& sources, Step* step) {
        const bool wide = count > 1;
        const bool product = one_of(line.name, kProducts) && !has(line.modifiers, "HI");
        const bool moves = line.name == "MOV" || line.name == "UMOV" || line.name == "MOV32I";
        const bool sum = one_of(line.name, kSums);
        const bool shifted = one_of(line.name, kShiftedSums);
        const bool shift = line.name == "SHF" || line.name == "USHF";
        // How many registers others write is only known as the most: CS2R.32 writes one.
        const bool conversion = one_of(line.name, kConversions);
        const bool sure = sum || product || shifted || conversion || (line.name == "CS2R" && !has(line.modifiers, "32"));
        const bool sign = shift && has(line.modifiers, "S32") && has(line.modifiers, "HI") && sources.size() == 3 &&
                          register_of(sources[0]) == kZero && sources[1] == "0x1f";
        for (uint32_t k = 0; k < count && reg != kZero; ++k) {
            Write write{std::min(reg + k, kRegisters - 1), {}, false, k > 0 && !sure};
            const auto source = [&](size_t i) { return i < sources.size() ? sources[i] : std::string_view("RZ"); };
            // Both words of a source have a part in both words of a product.
            const auto use = [&](size_t i, bool pair) {
                add(source(i), 0, Use::used, &write);
                if (pair) add(source(i), 1, Use::used, &write);
            };
            if (one_of(line.name, kScalars)) {
                const bool counts = (line.name == "S2R" || line.name == "S2UR") && !sources.empty() &&
                                    (begins_with(sources[0], "SR_TID.") || begins_with(sources[0], "SR_CTAID."));
                write.terms.push_back({{kZero, counts ? kSingle : kIndex}, Use::added});
            } else if (line.name == "SHFL") {
                add(source(0), 0, Use::mixed, &write);
            } else if (sum) {
                write.one_of = one_of(line.name, kChoices);
                const Use one = moves ? Use::moved : one_of(line.name, kPlain) ? Use::added : Use::mixed;
                for (size_t i = 0; i < sources.size(); ++i) add(source(i), k, one, &write);
            } else if (product) {
                const Use factor = wide ? Use::index : Use::used;  // of 32 bits
                const bool by_one = !wide && source(1) == "0x1";
                add(source(0), 0, by_one ? Use::added : factor, &write);
                const size_t first = write.terms.size();
                add(source(1), 0, factor, &write);
                if (first == 1) write.terms[0].times = times_of(source(1));
                if (first == 0 && write.terms.size() == 1) write.terms[0].times = times_of(source(0));
                if (write.terms.size() == 2) write.terms[0].by_other = write.terms[1].by_other = true;
                add(source(2), k, has(line.modifiers, "MOV") ? Use::moved : Use::added, &write);
            } else if (shifted) {
                // The lower half of what is shifted by little gives the upper half of the result no more than its highest bits.
                constexpr uint32_t kLittle = 16;
                if (has(line.modifiers, "HI") && !wide && !sources.empty() && immediate(sources.back()).value_or(kLittle) < kLittle)
                    add(source(0), 0, Use::index, &write);
                else
                    use(0, wide);
                const size_t shifted_low = write.terms.size();
                add(source(1), k, Use::added, &write);
                const size_t summed = write.terms.size();
                for (size_t i = 2; i < sources.size(); ++i) use(i, wide);
                const auto by = sources.empty() ? std::nullopt : immediate(sources.back());
                for (size_t i = 0; i < write.terms.size(); ++i)
                    if (by && (i < shifted_low || i >= summed)) write.terms[i].times = shifted_by(*by);
            } else if (sign) {
                add(source(2), 0, Use::index, &write);
                for (Term& term : write.terms) term.times = shifted_by(0);
            } else {
                // The operands of a shift are 32 bits each, whatever the modifiers say of both; of an upper product only the addend is a
                // pair.
                const bool upper = has(line.modifiers, "HI");
                const bool upper_product = upper && (line.name == "IMAD" || line.name == "UIMAD");
                const bool pairs =
                    conversion ? converts_pair(line) : !shift && !upper_product && (wide || upper || is_wide(line.modifiers));
                for (size_t i = 0; i < sources.size(); ++i) use(i, pairs || (upper_product && i == 2));
                // A factor without words, as an immediate is, has no term; a constant in a register has one.
                write.counts = upper_product || (shift && has(line.modifiers, "R"));
                write.smaller = upper_product && sources.size() > 1 && is_value(sources[0]) && is_value(sources[1]);
            }
            step->writes.push_back(std::move(write));
        }
    }

    void write_uniform(const SassLine& line, size_t reg, const std::vector<std::string_view>& sources, Step* step) {
        const bool pair = is_wide(line.modifiers) || line.name == "ULEPC" || (line.name == "CS2UR" && !has(line.modifiers, "32"));
        const size_t count = line.name == "USHF" ? 1 : has(line.modifiers, "256") ? 8 : has(line.modifiers, "128") ? 4 : pair ? 2 : 1;
        if (one_of(line.name, kParameterLoads))
            parameter_load(line, reg, count, sources, step);
        else if (one_of(line.name, kSums) || one_of(line.name, kProducts) || one_of(line.name, kShiftedSums) ||
                 one_of(line.name, kScalars) || one_of(line.name, kUniformArithmetic))
            arithmetic(line, reg, count, sources, step);
        else
            for (size_t k = 0; k < 8 && reg != kZero; ++k) step->writes.push_back({std::min(reg + k, kRegisters - 1), {}, true, true});
    }

    void parameter_load(const SassLine& line, size_t reg, size_t count, const std::vector<std::string_view>& sources, Step* step) {
        for (uint32_t k = 0; k < count && reg != kZero; ++k) {
            Write write{std::min(reg + k, kRegisters - 1), {}, false, false};
            // A number of 32 bits from another bank is an index; two of them at once can be a pointer.
            const auto from = sources.empty() ? std::nullopt : constant_of(sources[0]);
            const bool index =
                from && !from->parameters && count == 1 && !begins_with(sources[0], "c[0x4]") && begins_with(sources[0], "c[0x");
            const Use use = is_narrow(line.modifiers) ? Use::index : Use::moved;
            if (!index) write.terms.push_back({{kZero, sources.empty() ? kUnknown : constant(sources[0], k, count > 1)}, use});
            step->writes.push_back(std::move(write));
        }
    }

    // What this instruction loads.
    Id part() const { return values_.id_of(part_value(static_cast<uint32_t>(at_))); }

    // The first of so many words of the stack that an access touches; none if they are not followed.
    static std::optional<size_t> stack_word(const SassLine& line, size_t count) {
        const auto place = stack_place(line);
        if (!place || *place / 4 + count > kRegisters - kStack) return std::nullopt;
        return kStack + *place / 4;
    }

    void store_in_stack(const SassLine& line, Step* step) const {
        const size_t count = has(line.modifiers, "128") ? 4 : has(line.modifiers, "64") ? 2 : 1;
        const auto word = stack_word(line, count);
        if (!word || line.operands.size() != 2) return;
        const bool narrow = is_narrow(line.modifiers);  // what surrounds it stays
        for (uint32_t k = 0; k < count; ++k) {
            Write write{*word + k, {}, false, narrow};
            add(line.operands[1], k, narrow ? Use::used : Use::moved, &write);
            step->writes.push_back(std::move(write));
        }
    }

    void write_general(const SassLine& line, const SassEffect& effect, const std::vector<std::string_view>& sources, Step* step) {
        std::vector<size_t> written;
        for (size_t i = 0; i < effect.registers.size(); ++i)
            if (effect.registers[i]) written.push_back(i);
        if (written.empty()) return;
        if (one_of(line.name, kParameterLoads)) {
            parameter_load(line, written.front(), written.size(), sources, step);
        } else if (const auto word = stack_ && line.name == "LDL" ? stack_word(line, written.size()) : std::nullopt) {
            const Use use = is_narrow(line.modifiers) ? Use::used : Use::moved;
            for (size_t k = 0; k < written.size(); ++k) step->writes.push_back({written[k], {{{*word + k, kScalar}, use}}, false, false});
        } else if (line.name == "LDG" && written.size() == 1 && !is_wide(line.modifiers)) {
            step->writes.push_back({written.front(), {{{kZero, kIndex}, Use::added}}, false, false});
        } else if (written.size() == 1 && one_of(line.name, kNumbers) && !is_wide(line.modifiers)) {
            step->writes.push_back({written.front(), {{{kZero, part()}, Use::added}}, false, false});
        } else if (one_of(line.name, kLoads)) {
            for (const size_t reg : written) step->writes.push_back({reg, {{{kZero, part()}, Use::added}}, false, false});
        } else if (begins_with(line.name, "LD") || begins_with(line.name, "ATOM") || line.name == "HMMA" || line.name == "IMMA" ||
                   line.name == "QSPC") {
            for (const size_t reg : written) step->writes.push_back({reg, {}, true, reg != written.front()});
        } else {
            arithmetic(line, written.front(), written.size(), sources, step);
        }
    }

    // An instruction that is not known, but of some it is known where their results are.
    void write_unknown(const SassLine& line, size_t first, Step* step) {
        const auto forget = [&](size_t reg, size_t count) {
            for (size_t k = 0; reg < kUniform && k < count && reg + k < kUniform - 1; ++k)
                step->writes.push_back({reg + k, {}, true, true});
        };
        const auto result = first < line.operands.size() ? register_of(line.operands[first]) : std::nullopt;
        if (result && line.name.size() > 4 && line.name.substr(line.name.size() - 4) == "GMMA") {
            // "64x128x16.F32": a warp group's 64 × N results, at most one a register.
            const size_t x = line.modifiers.find('x');
            const auto digits = line.modifiers.substr(std::min(x + 1, line.modifiers.size()));
            if (const auto n = leading_number(digits)) return forget(*result, *n / 2);
        }
        if (line.name == "VOTE") return;  // predicates alone
        if (result && (line.name == "LEPC" || line.name == "B2R" || line.name == "DMMA" || line.name == "BMOV")) {
            const size_t count = line.name == "B2R" ? 1 : line.name == "DMMA" ? 8 : 2;
            return forget(*result, count);
        }
        if (result && line.name == "LDTM") {
            // 16dp256bit.x4: 256 bits a lane and step are four registers.
            const size_t x = line.modifiers.rfind(".x");
            const auto n = x == line.modifiers.npos && !begins_with(line.modifiers, "x")
                               ? std::optional<uint32_t>(1)
                               : leading_number(line.modifiers.substr(x == line.modifiers.npos ? 1 : x + 2));
            if (n) return forget(*result, size_t{*n} * 4);
        }
        // Vectors and 256 bits in one or two results.
        if (line.name == "LDG" || line.name == "LD" || line.name == "LDGMC" || begins_with(line.name, "ATOM")) {
            for (const std::string_view operand : line.operands)
                if (const auto reg = register_of(operand)) forget(*reg, 4);
            return;
        }
        if (line.name == "SYNCS") {  // what stands behind the address is a source
            for (size_t i = 0; i < line.operands.size() && line.operands[i].find('[') == line.operands[i].npos; ++i)
                if (const auto reg = register_of(line.operands[i])) forget(*reg, 4);
            return;
        }
        if (line.name == "TEX" || line.name == "TLD" || line.name == "TLD4" || line.name == "TXQ" || line.name == "SULD") {
            for (const std::string_view operand : line.operands)
                if (const auto reg = register_of(operand)) forget(*reg, 4);
            return;
        }
        step->all_unknown = true;
    }

    const std::optional<ParameterArea>& area_;
    const std::unordered_map<uint32_t, size_t>& places_;
    const bool stack_;
    size_t at_ = 0;
    Values& values_;
    Reads& reads_;
    const Id any_pair_;
};

}  // namespace snoopie::following
