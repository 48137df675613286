#include "code/roots.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace snoopie {

namespace {

// --- Values ---

// What a register can hold, by the 4-byte words of the parameters. `added`: words that reach it by moves and sums alone; `used`: those that
// have a part in it otherwise. `part`: it holds 32 bits from memory that is not followed, an index or one half of a pointer. A pointer has
// both halves from there, so the lower half of an address may hold such bits, and the upper may not. `places`: instructions that it names.
struct Value {
    bool unknown = false;
    bool part = false;
    std::vector<uint16_t> added;
    std::vector<uint16_t> used;
    std::vector<uint32_t> places;
    auto all() const { return std::tie(unknown, part, added, used, places); }
    bool operator<(const Value& other) const { return all() < other.all(); }
};

Value unknown_value() {
    Value value;
    value.unknown = true;
    return value;
}

Value part_value() {
    Value value;
    value.part = true;
    return value;
}

// A value in the table. Nothing but constants, indices of threads and numbers from memory: kScalar, which is also what a register holds
// that was never written.
using Id = uint32_t;
constexpr Id kScalar = 0;
constexpr Id kUnknown = 1;
constexpr Id kPart = 2;

// More words than this in one value, and nothing is known of it.
constexpr size_t kMostWords = 512;

template <class Number>
std::vector<Number> united(const std::vector<Number>& a, const std::vector<Number>& b) {
    std::vector<Number> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

class Values {
  public:
    Values() {
        id_of({});
        id_of(unknown_value());
        id_of(part_value());
    }
    const Value& operator[](Id id) const { return *values_[id]; }

    Id id_of(Value value) {
        if (value.unknown || value.added.size() + value.used.size() > kMostWords) value = unknown_value();
        const auto [entry, is_new] = ids_.try_emplace(std::move(value), static_cast<Id>(values_.size()));
        if (is_new) values_.push_back(&entry->first);
        return entry->second;
    }
    Id join(Id a, Id b) {
        if (a == b || b == kScalar) return a;
        if (a == kScalar) return b;
        if (a == kUnknown || b == kUnknown) return kUnknown;
        Id& known = joins_[uint64_t{std::min(a, b)} << 32 | std::max(a, b)];
        if (known == kScalar) {
            const Value one = *values_[a];
            const Value& other = *values_[b];
            known = id_of({false, one.part || other.part, united(one.added, other.added), united(one.used, other.used),
                           united(one.places, other.places)});
        }
        return known;
    }
    // The same words, but not as a sum.
    Id as_used(Id id) {
        if (id == kScalar || id == kUnknown) return id;
        Id& known = used_[id];
        if (known == kScalar) known = id_of({false, values_[id]->part, {}, united(values_[id]->added, values_[id]->used), {}});
        return known;
    }
    // A sum names no place.
    Id as_added(Id id) {
        if (values_[id]->places.empty()) return id;
        Value value = *values_[id];
        value.places.clear();
        return id_of(std::move(value));
    }
    // Widened to 64 bits: no half of a pointer.
    Id as_index(Id id) {
        if (id == kUnknown) return id;
        Value value = *values_[as_used(id)];
        value.part = false;
        return id_of(std::move(value));
    }

  private:
    std::map<Value, Id> ids_;
    std::vector<const Value*> values_;
    std::unordered_map<uint64_t, Id> joins_;
    std::unordered_map<Id, Id> used_;
};

// --- Operands ---

constexpr size_t kUniform = 256;  // the first uniform register, behind the general ones
constexpr size_t kBarrier = 512;  // the first barrier of lanes that wait for each other
constexpr size_t kRegisters = 528;
constexpr size_t kZero = kRegisters;  // RZ and URZ

template <size_t N>
bool one_of(std::string_view name, const std::array<std::string_view, N>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

template <class Number>
std::optional<Number> number(std::string_view text, int base) {
    Number value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<uint32_t> immediate(std::string_view text) {
    const bool negative = begins_with(text, "-");
    if (negative) text.remove_prefix(1);
    if (!begins_with(text, "0x")) return std::nullopt;
    const auto value = number<uint64_t>(text.substr(2), 16);
    if (!value) return std::nullopt;
    return static_cast<uint32_t>(negative ? 0 - *value : *value);
}

// R12 or UR12, with .64 and the like behind it; also what is left of |R12|.reuse.
std::optional<size_t> register_of(std::string_view text) {
    text = text.substr(0, text.find_first_of(".|"));
    if (text == "RZ" || text == "URZ") return kZero;
    const bool uniform = begins_with(text, "UR");
    if (!uniform && !begins_with(text, "R")) return std::nullopt;
    const auto found = number<uint32_t>(text.substr(uniform ? 2 : 1), 10);
    if (!found || *found >= kUniform) return std::nullopt;
    return *found + (uniform ? kUniform : 0);
}

std::optional<size_t> barrier_of(std::string_view text) {
    const auto found = begins_with(text, "B") ? number<uint32_t>(text.substr(1), 10) : std::nullopt;
    if (!found || *found >= kRegisters - kBarrier) return std::nullopt;
    return kBarrier + *found;
}

// "128" of "128x16".
std::optional<uint32_t> leading_number(std::string_view text) {
    return number<uint32_t>(text.substr(0, text.find_first_not_of("0123456789")), 10);
}

bool is_predicate(std::string_view text) {
    if (begins_with(text, "!")) text.remove_prefix(1);
    if (begins_with(text, "U")) text.remove_prefix(1);
    return text == "PT" || text == "PR" || (text.size() == 2 && text[0] == 'P' && text[1] >= '0' && text[1] <= '9');
}

// A source, without its sign and the like.
std::string_view bare(std::string_view text) {
    while (!text.empty() && (text.front() == '-' || text.front() == '~' || text.front() == '|' || text.front() == '!'))
        text.remove_prefix(1);
    while (!text.empty() && text.back() == '|') text.remove_suffix(1);
    return text;
}

bool has(std::string_view modifiers, std::string_view wanted) {
    while (!modifiers.empty()) {
        const size_t dot = std::min(modifiers.find('.'), modifiers.size());
        if (modifiers.substr(0, dot) == wanted) return true;
        modifiers.remove_prefix(std::min(dot + 1, modifiers.size()));
    }
    return false;
}

bool is_wide(std::string_view modifiers) {
    for (const std::string_view wide : {"64", "U64", "S64", "F64", "WIDE", "128", "256"})
        if (has(modifiers, wide)) return true;
    return false;
}

// c[0x0][R4+0x160], where it can be told which words it reads.
struct Constant {
    bool parameters = false;  // bank 0
    bool indexed = false;
    uint32_t offset = 0;
};

std::optional<Constant> constant_of(std::string_view text) {
    if (!begins_with(text, "c[") && !begins_with(text, "cx[")) return std::nullopt;
    Constant constant;
    constexpr std::string_view kBank0 = "c[0x0][";
    if (!begins_with(text, kBank0) || text.back() != ']') return constant;
    constant.parameters = true;
    text = text.substr(kBank0.size(), text.size() - kBank0.size() - 1);
    while (!text.empty()) {
        const size_t plus = std::min(text.find('+'), text.size());
        const std::string_view part = text.substr(0, plus);
        if (const auto value = immediate(part))
            constant.offset += *value;
        else
            constant.indexed |= register_of(part) != kZero;
        text.remove_prefix(std::min(plus + 1, text.size()));
    }
    return constant;
}

// --- What an instruction does ---

// One word of a source: a register, or a value that is known.
struct Word {
    size_t reg = kZero;
    Id value = kScalar;
};

enum class Use { moved, added, used, index };

struct Term {
    Word word;
    Use use = Use::used;
};

struct Write {
    size_t reg = 0;
    std::vector<Term> terms;  // the register then holds what these do
    bool unknown = false;
    bool joins = false;  // it may not be written: what was there can stay
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
constexpr std::array<std::string_view, 2> kProducts = {"IMAD", "UIMAD"};
constexpr std::array<std::string_view, 2> kShiftedSums = {"LEA", "ULEA"};
// A result of 32 bits is an index, or one half of a pointer.
constexpr std::array<std::string_view, 6> kNumbers = {"LDS", "LDL", "LD", "ATOM", "ATOMG", "ATOMS"};
constexpr std::array<std::string_view, 3> kParameterLoads = {"LDC", "ULDC", "LDCU"};
// Indices, clocks, masks of lanes.
constexpr std::array<std::string_view, 13> kScalars = {"S2R",   "CS2R",  "S2UR",  "CS2UR", "P2R", "UP2UR", "VOTE",
                                                       "VOTEU", "MATCH", "ELECT", "POPC",  "FLO", "LEPC"};
// Uniform results of other kinds: of integers and floating-point numbers.
constexpr std::array<std::string_view, 21> kUniformArithmetic = {"USHF",  "UBMSK",  "UBREV", "UFLO",  "UPOPC", "USGXT", "ULEPC",
                                                                 "REDUX", "CREDUX", "UFADD", "UFMUL", "UFFMA", "UI2F",  "UF2I",
                                                                 "UI2FP", "UFRND",  "UFSEL", "UIABS", "UF2F",  "UF2FP", "UFMNMX"};
// They name the place where they go, or where others wait.
constexpr std::array<std::string_view, 5> kGoing = {"BRA", "JMP", "CALL", "WARPSYNC", "BSSY"};
// Moves of numbers that can be places to return to.
constexpr std::array<std::string_view, 6> kHolding = {"MOV", "MOV32I", "UMOV", "IMAD", "SEL", "USEL"};
// No register, general or uniform.
constexpr std::array<std::string_view, 72> kNoResult = {
    "ACQBULK", "BAR",          "BREAK",       "BSYNC",        "BSSY",          "CCTL",      "CCTLL",    "CGAERRBAR",  "DEPBAR",
    "ERRBAR",  "EXIT",         "FENCE",       "KILL",         "LDGDEPBAR",     "LDGSTS",    "MEMBAR",   "NANOSLEEP",  "NOP",
    "PREEXIT", "RED",          "REDG",        "REDS",         "RET",           "ST",        "STAS",     "STG",        "STL",
    "STS",     "STSM",         "REDAS",       "BRA",          "JMP",           "WARPSYNC",  "YIELD",    "ISETP",      "FSETP",
    "DSETP",   "HSETP2",       "PLOP3",       "PSETP",        "CSETP",         "FCHK",      "R2P",      "UISETP",     "UPLOP3",
    "UPSETP",  "UFSETP",       "UTMALDG",     "UTMASTG",      "UTMAREDG",      "UTMAPF",    "UTMACCTL", "UBLKCP",     "UBLKRED",
    "UBLKPF",  "UTMACMDFLUSH", "UCGABAR_ARV", "UCGABAR_WAIT", "USETMAXREG",    "WARPGROUP", "BPT",      "UTCBAR",     "UTCHMMA",
    "UTCQMMA", "UTCCP",        "STTM",        "SUST",         "ENDCOLLECTIVE", "UTCIMMA",   "UTCOMMA",  "UVIRTCOUNT", "UGETNEXTWORKID"};

class Translator {
  public:
    // `places`: the instructions' offsets.
    Translator(const std::optional<ParameterArea>& area, const std::unordered_map<uint32_t, size_t>& places, Values* values)
        : area_(area), places_(places), values_(*values) {
        if (area_ && area_->bytes / 4 <= kMostWords) {
            Value every;
            for (uint32_t word = 0; word < area_->bytes / 4; ++word) every.added.push_back(static_cast<uint16_t>(word));
            every_ = values_.id_of(every);
        }
    }

    Step step_of(const SassLine& line, const SassEffect& effect) {
        Step step;
        step.joins = line.guard != SassLine::kAlways || line.guard_negated;
        if (step.joins && line.guard != SassLine::kAlways && !line.guard_uniform) step.guard = 2 * line.guard + line.guard_negated;
        step.predicates = effect.unknown ? 0x7f : effect.predicates;
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

    Id constant(std::string_view text, uint32_t word) const {
        const auto found = constant_of(text);
        if (!found || !found->parameters || !area_) return kUnknown;
        if (found->indexed) return every_;
        const uint32_t offset = found->offset + 4 * word;
        // Below the parameters is what the driver tells every kernel: sizes of the grid, the stack, caching policies.
        if (offset < area_->base) return kScalar;
        if (offset >= area_->base + area_->bytes) return kUnknown;
        return values_.id_of({false, false, {static_cast<uint16_t>((offset - area_->base) / 4)}, {}, {}});
    }

  private:
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
            return write(*to, {{kZero, known ? values_.id_of({false, false, {}, {}, {*place}}) : kUnknown}, Use::moved});
        }
        if (const auto reg = register_of(line.operands[1]); moves && to && reg) return write(*to, {{*reg, kScalar}, Use::moved});
        if (const auto reg = register_of(line.operands[0]); moves && from && reg && *reg != kZero)
            return write(*reg, {{*from, kScalar}, Use::moved});
        return false;
    }

    // One 32-bit word of a source, from its lowest.
    Word word_of(std::string_view source, uint32_t word) const {
        if (const auto reg = register_of(source)) return {*reg == kZero ? kZero : std::min<size_t>(*reg + word, kRegisters - 1), kScalar};
        if (constant_of(source)) return {kZero, constant(source, word)};
        if (begins_with(source, "[") || begins_with(source, "desc") || begins_with(source, "gdesc")) return {kZero, kUnknown};
        return {};  // an immediate
    }
    void add(std::string_view source, uint32_t word, Use use, Write* write) const {
        Word found = word_of(source, word);
        if (const auto place = immediate(source); place && use == Use::moved && word == 0 && places_.count(*place))
            found.value = values_.id_of({false, false, {}, {}, {*place}});
        if (found.reg != kZero || found.value != kScalar) write->terms.push_back({found, use});
    }

    // Results of `count` registers from `reg` on.
    void arithmetic(const SassLine& line, size_t reg, size_t count, const std::vector<std::string_view>& sources, Step* step) {
        const bool wide = count > 1;
        const bool product = one_of(line.name, kProducts) && !has(line.modifiers, "HI");
        const bool moves = line.name == "MOV" || line.name == "UMOV" || line.name == "MOV32I";
        const bool sum = one_of(line.name, kSums);
        const bool shifted = one_of(line.name, kShiftedSums);
        // How many registers others write is only known as the most: F2F.F32.F64 and CS2R.32 write one.
        const bool sure = sum || product || shifted || (line.name == "CS2R" && !has(line.modifiers, "32"));
        const bool sign = line.name == "SHF" && has(line.modifiers, "S32") && has(line.modifiers, "HI") && sources.size() == 3 &&
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
                // no terms
            } else if (line.name == "SHFL") {
                add(source(0), 0, Use::added, &write);
            } else if (sum) {
                for (size_t i = 0; i < sources.size(); ++i) add(source(i), k, moves ? Use::moved : Use::added, &write);
            } else if (product) {
                const Use factor = wide ? Use::index : Use::used;  // of 32 bits
                const bool by_one = !wide && source(1) == "0x1";
                add(source(0), 0, by_one ? Use::added : factor, &write);
                add(source(1), 0, factor, &write);
                add(source(2), k, has(line.modifiers, "MOV") ? Use::moved : Use::added, &write);
            } else if (shifted) {
                // The lower half of what is shifted gives the upper half of the result no more than its highest bits.
                if (has(line.modifiers, "HI") && !wide)
                    add(source(0), 0, Use::index, &write);
                else
                    use(0, wide);
                add(source(1), k, Use::added, &write);
                for (size_t i = 2; i < sources.size(); ++i) use(i, wide);
            } else if (sign) {
                add(source(2), 0, Use::index, &write);
            } else {
                const bool pairs = wide || is_wide(line.modifiers) || has(line.modifiers, "HI");
                for (size_t i = 0; i < sources.size(); ++i) use(i, pairs);
            }
            step->writes.push_back(std::move(write));
        }
    }

    void write_uniform(const SassLine& line, size_t reg, const std::vector<std::string_view>& sources, Step* step) {
        const size_t count = has(line.modifiers, "256") ? 8 : has(line.modifiers, "128") ? 4 : is_wide(line.modifiers) ? 2 : 1;
        if (one_of(line.name, kParameterLoads))
            parameter_load(reg, count, sources, step);
        else if (one_of(line.name, kSums) || one_of(line.name, kProducts) || one_of(line.name, kShiftedSums) ||
                 one_of(line.name, kScalars) || one_of(line.name, kUniformArithmetic))
            arithmetic(line, reg, count, sources, step);
        else
            for (size_t k = 0; k < 8 && reg != kZero; ++k) step->writes.push_back({std::min(reg + k, kRegisters - 1), {}, true, true});
    }

    void parameter_load(size_t reg, size_t count, const std::vector<std::string_view>& sources, Step* step) {
        for (uint32_t k = 0; k < count && reg != kZero; ++k) {
            Write write{std::min(reg + k, kRegisters - 1), {}, false, false};
            // A number of 32 bits from another bank is an index; two of them at once can be a pointer.
            const auto from = sources.empty() ? std::nullopt : constant_of(sources[0]);
            const bool index =
                from && !from->parameters && count == 1 && !begins_with(sources[0], "c[0x4]") && begins_with(sources[0], "c[0x");
            if (!index) write.terms.push_back({{kZero, sources.empty() ? kUnknown : constant(sources[0], k)}, Use::added});
            step->writes.push_back(std::move(write));
        }
    }

    void write_general(const SassLine& line, const SassEffect& effect, const std::vector<std::string_view>& sources, Step* step) {
        std::vector<size_t> written;
        for (size_t i = 0; i < effect.registers.size(); ++i)
            if (effect.registers[i]) written.push_back(i);
        if (written.empty()) return;
        if (one_of(line.name, kParameterLoads)) {
            parameter_load(written.front(), written.size(), sources, step);
        } else if (line.name == "LDG" && written.size() == 1 && !is_wide(line.modifiers)) {
            step->writes.push_back({written.front(), {}, false, false});
        } else if (written.size() == 1 && one_of(line.name, kNumbers) && !is_wide(line.modifiers)) {
            step->writes.push_back({written.front(), {{{kZero, kPart}, Use::added}}, false, false});
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
        if (line.name == "SYNCS" || line.name == "TEX" || line.name == "TLD" || line.name == "TLD4" || line.name == "TXQ" ||
            line.name == "SULD") {
            for (const std::string_view operand : line.operands)
                if (const auto reg = register_of(operand)) forget(*reg, 4);
            return;
        }
        step->all_unknown = true;
    }

    const std::optional<ParameterArea>& area_;
    const std::unordered_map<uint32_t, size_t>& places_;
    Values& values_;
    Id every_ = kUnknown;
};

// --- The flow of control ---

struct Block {
    size_t begin = 0;
    size_t end = 0;
    std::vector<size_t> next;           // blocks
    std::optional<size_t> forgetting;   // the same, behind the call of another function: everything may have changed
    std::optional<size_t> returns_by;   // the register with the place where it returns to; kZero if that is not seen
    std::optional<size_t> waits_by;     // the barrier that says where lanes go on
    std::optional<size_t> behind_call;  // the block behind the call of a function of its own
};

struct Graph {
    std::vector<Block> blocks;
    std::vector<size_t> block_of;  // by instruction
    std::vector<size_t> returns;   // blocks: behind calls, and places that the code names
    std::vector<size_t> meetings;  // blocks: where lanes that wait for each other go on
};

// A call of a function in the same code, to `target`. A call that was not linked yet names a place that says nothing.
bool calls_within(const SassLine& line, uint32_t offset, uint32_t target) {
    return !has(line.modifiers, "ABS") && target != 0 && target != offset && target != offset + 16;
}

// The number of a barrier or of nanoseconds is no place, but what is not known can be a branch.
bool goes_to_places(const SassLine& line, const Step& step) { return step.all_unknown || one_of(line.name, kGoing); }

// An instruction that can hold a place to return to.
bool holds_place(const SassLine& line) { return one_of(line.name, kHolding); }

Graph graph_of(const std::vector<std::optional<SassLine>>& lines, const std::vector<SassEffect>& effects, const std::vector<Step>& steps,
               const std::vector<uint32_t>& offsets, const std::unordered_map<uint32_t, size_t>& at) {
    Graph graph;
    std::vector<bool> begins(lines.size() + 1, false);
    begins[0] = true;
    const bool has_returns = std::any_of(lines.begin(), lines.end(), [](const auto& line) { return line && line->name == "RET"; });
    std::vector<size_t> meetings;
    std::vector<size_t> returns;
    std::vector<size_t> behind_collectives;
    for (size_t i = 0; i < lines.size(); ++i) {
        const SassLine& line = *lines[i];
        if (effects[i].ends_block) begins[i + 1] = true;
        for (const uint32_t target : effects[i].targets) {
            const auto found = at.find(target);
            if (found == at.end() || !goes_to_places(line, steps[i])) continue;
            begins[found->second] = true;
            if (line.name == "BSSY") meetings.push_back(found->second);
            // Nearly always directly behind its end.
            const bool behind_end = found->second > 0 && lines[found->second - 1]->name == "ENDCOLLECTIVE";
            if (line.name == "WARPSYNC" && !behind_end) behind_collectives.push_back(found->second);
        }
        for (const std::string_view operand : line.operands) {
            const auto place = immediate(operand);
            const auto found = place ? at.find(*place) : at.end();
            if (found == at.end() || *place == 0 || !has_returns || !holds_place(line)) continue;
            begins[found->second] = true;
            returns.push_back(found->second);
        }
        if (line.name == "CALL" && i + 1 < lines.size()) returns.push_back(i + 1);
    }
    graph.block_of.assign(lines.size(), 0);
    for (size_t i = 0; i < lines.size(); ++i) {
        if (begins[i]) graph.blocks.push_back({i, i, {}, {}, {}, {}, {}});
        graph.blocks.back().end = i + 1;
        graph.block_of[i] = graph.blocks.size() - 1;
    }
    const auto blocks_at = [&](const std::vector<size_t>& instructions) {
        std::set<size_t> found;
        for (const size_t i : instructions) found.insert(graph.block_of[i]);
        return std::vector<size_t>(found.begin(), found.end());
    };
    graph.returns = blocks_at(returns);
    graph.meetings = blocks_at(meetings);
    for (Block& block : graph.blocks) {
        const size_t last = block.end - 1;
        const SassLine& line = *lines[last];
        const std::string_view name = line.name;
        const auto go = [&](size_t to) {
            if (to < lines.size()) block.next.push_back(graph.block_of[to]);
        };
        const bool always = line.guard == SassLine::kAlways && !line.guard_negated;
        bool local = false;
        // The place that BSSY names is where BSYNC goes. Only the last instruction of a block can go elsewhere.
        for (const uint32_t target : effects[last].targets) {
            const auto found = at.find(target);
            if (found == at.end() || !goes_to_places(line, steps[last]) || name == "BSSY") continue;
            go(found->second);
            local = name == "CALL" && calls_within(line, offsets[last], target);
        }
        // A lane that waits goes on where its own BSYNC says; the other instructions on which lanes wait let it go on behind them.
        // What WARPSYNC.COLLECTIVE began goes on at the place that it named.
        if (name == "ENDCOLLECTIVE")
            for (const size_t to : behind_collectives) go(to);
        if (name == "BSYNC") block.waits_by = line.operands.empty() ? kZero : barrier_of(line.operands[0]).value_or(kZero);
        if (name == "RET") {
            std::string_view place = line.operands.empty() ? std::string_view() : line.operands[0];
            place = place.substr(0, place.find(' '));
            block.returns_by = has(line.modifiers, "ABS") ? kZero : register_of(place).value_or(kZero);
        }
        if (name == "CALL" && block.end < lines.size()) {
            if (local)
                block.behind_call = graph.block_of[block.end];
            else
                block.forgetting = graph.block_of[block.end];
        }
        const bool leaves = name == "EXIT" || name == "KILL" || name == "RET" || name == "BRA" || name == "JMP" || name == "CALL";
        // "BRA UP0, 0x10" and "BRA.DIV" have conditions of their own.
        const bool conditional = !always || line.operands.size() > 1 || (name != "RET" && !line.modifiers.empty());
        if (!leaves || (name == "CALL" ? !always : conditional)) go(block.end);
    }
    return graph;
}

using State = std::vector<Id>;

// Only the registers that can get into the wanted ones are followed.
class Flow {
  public:
    Flow(const std::vector<std::optional<SassLine>>& lines, const std::vector<uint32_t>& offsets, const std::optional<ParameterArea>& area,
         std::vector<size_t> wanted)
        : places_(places_of(offsets)), translator_(area, places_, &values_) {
        std::vector<SassEffect> effects;
        for (const auto& line : lines) effects.push_back(line ? effect_of(*line) : SassEffect());
        for (size_t i = 0; i < lines.size(); ++i) {
            if (!lines[i] || effects[i].anywhere) return;  // control can go to places that are not known
            steps_.push_back(translator_.step_of(*lines[i], effects[i]));
        }
        graph_ = graph_of(lines, effects, steps_, offsets, places_);
        for (const Block& block : graph_->blocks)
            for (const auto& holds_place : {block.returns_by, block.waits_by})
                if (holds_place) wanted.push_back(*holds_place);
        keep(std::move(wanted));
        run();
    }

    // In the order of the instructions.
    template <class Visit>
    void visit(Visit visit) {
        if (!graph_) return;
        for (size_t b = 0; b < graph_->blocks.size(); ++b) {
            if (!reached_[b]) continue;
            State state = states_[b];
            ++round_;
            for (size_t i = graph_->blocks[b].begin; i < graph_->blocks[b].end; ++i) {
                visit(i, state);
                apply(steps_[i], &state);
            }
        }
    }

    // At an instruction that is visited.
    Id value(const State& state, size_t instruction, size_t reg) const {
        return reg >= kRegisters ? kScalar : read(state, index_[reg], steps_[instruction].guard);
    }
    Values& values() { return values_; }

  private:
    static std::unordered_map<uint32_t, size_t> places_of(const std::vector<uint32_t>& offsets) {
        std::unordered_map<uint32_t, size_t> places;
        for (size_t i = 0; i < offsets.size(); ++i) places.emplace(offsets[i], i);
        return places;
    }

    // Numbers the registers that matter and leaves the others out of the steps.
    void keep(std::vector<size_t> wanted) {
        std::vector<std::bitset<kRegisters>> from(kRegisters);
        for (const Step& step : steps_)
            for (const Write& write : step.writes)
                for (const Term& term : write.terms)
                    if (term.word.reg != kZero) from[write.reg].set(term.word.reg);
        index_.assign(kRegisters, kRegisters);
        while (!wanted.empty()) {
            const size_t reg = wanted.back();
            wanted.pop_back();
            if (reg >= kRegisters || index_[reg] != kRegisters) continue;
            index_[reg] = kept_++;
            for (size_t r = 0; r < kRegisters; ++r)
                if (from[reg][r]) wanted.push_back(r);
        }
        for (Step& step : steps_) {
            const auto left_out = [&](const Write& write) { return index_[write.reg] == kRegisters; };
            step.writes.erase(std::remove_if(step.writes.begin(), step.writes.end(), left_out), step.writes.end());
            for (Write& write : step.writes) {
                write.reg = index_[write.reg];
                for (Term& term : write.terms)
                    if (term.word.reg != kZero) term.word.reg = index_[term.word.reg];
            }
        }
        guarded_.resize(kept_);
        for (size_t i = 0; i < graph_->blocks.size(); ++i) {
            auto& active = active_.emplace_back();
            for (size_t s = graph_->blocks[i].begin; s < graph_->blocks[i].end; ++s)
                if (steps_[s].all_unknown || !steps_[s].writes.empty() || steps_[s].predicates != 0) active.push_back(s);
        }
    }

    void run() {
        const size_t count = graph_->blocks.size();
        states_.resize(count);
        reached_.assign(count, false);
        unseen_returns_.assign(kept_, kScalar);
        returned_.assign(kept_, kScalar);
        reach(0, State(kept_, kScalar));
        for (;;) {
            while (!work_.empty()) {
                const size_t b = *work_.begin();
                work_.erase(work_.begin());
                go_on(b);
            }
            if (!has_returned_) return;
            // A call to which no return was seen to lead: as if all returns led there.
            for (size_t b = 0; b < count; ++b) {
                const auto behind = graph_->blocks[b].behind_call;
                if (reached_[b] && behind && !reached_[*behind]) open_.insert(*behind);
            }
            for (const size_t to : open_) reach(to, returned_);
            if (work_.empty()) return;
        }
    }

    void go_on(size_t b) {
        const Block& block = graph_->blocks[b];
        State state = states_[b];
        ++round_;
        for (const size_t i : active_[b]) apply(steps_[i], &state);
        for (const size_t to : block.next) reach(to, state);
        if (block.forgetting) reach(*block.forgetting, State(kept_, kUnknown));
        if (block.waits_by) {
            if (const auto seen = places_in(*block.waits_by, state))
                for (const size_t to : *seen) reach(to, state);
            else
                for (const size_t to : graph_->meetings) reach(to, state);
        }
        if (!block.returns_by) return;
        has_returned_ = true;
        join(state, &returned_);
        for (const size_t to : open_) reach(to, returned_);
        if (const auto seen = places_in(*block.returns_by, state)) {
            for (const size_t to : *seen) reach(to, state);
            return;
        }
        join(state, &unseen_returns_);
        for (const size_t to : graph_->returns) reach(to, unseen_returns_);
    }

    // The blocks that a register names; none if it may hold something else.
    std::optional<std::vector<size_t>> places_in(size_t reg, const State& state) const {
        const Value& value = values_[reg < kRegisters ? state[index_[reg]] : kUnknown];
        if (value.places.empty() || value.unknown || value.part || !value.added.empty() || !value.used.empty()) return std::nullopt;
        std::vector<size_t> found;
        for (const uint32_t place : value.places) found.push_back(graph_->block_of[places_.at(place)]);
        return found;
    }

    void reach(size_t to, const State& with) {
        if (!reached_[to]) {
            reached_[to] = true;
            states_[to] = with;
        } else if (!join(with, &states_[to])) {
            return;
        }
        work_.insert(to);
    }

    void forget_guards(uint8_t predicates) {
        if (predicates == 0) return;
        for (Guarded& guarded : guarded_)
            if (guarded.guard != kNoGuard && (predicates >> (guarded.guard / 2) & 1)) guarded = {};
    }

    bool join(const State& from, State* to) {
        bool changed = false;
        for (size_t r = 0; r < kept_; ++r) {
            const Id both = values_.join((*to)[r], from[r]);
            changed |= both != (*to)[r];
            (*to)[r] = both;
        }
        return changed;
    }

    Id used_as(Id id, Use use) {
        switch (use) {
            case Use::moved:
                return id;
            case Use::added:
                return values_.as_added(id);
            case Use::used:
                return values_.as_used(id);
            default:
                return values_.as_index(id);
        }
    }

    // What a register holds where this guard does.
    Id read(const State& state, size_t kept, int guard) const {
        const Guarded& guarded = guarded_[kept];
        return guard != kNoGuard && guarded.round == round_ && guarded.guard == guard ? guarded.value : state[kept];
    }

    void apply(const Step& step, State* state) {
        if (step.all_unknown) {
            state->assign(kept_, kUnknown);
            ++round_;
            return;
        }
        results_.clear();
        for (const Write& write : step.writes) {
            Id result = write.unknown ? kUnknown : kScalar;
            for (const Term& term : write.terms) {
                const Id one = term.word.reg == kZero ? term.word.value : read(*state, term.word.reg, step.guard);
                result = values_.join(result, used_as(one, term.use));
            }
            results_.push_back(write.joins ? values_.join(read(*state, write.reg, step.guard), result) : result);
        }
        for (size_t i = 0; i < step.writes.size(); ++i) {
            Id& now = (*state)[step.writes[i].reg];
            now = step.joins ? values_.join(now, results_[i]) : results_[i];
            guarded_[step.writes[i].reg] = {step.guard == kNoGuard ? 0 : round_, step.guard, results_[i]};
        }
        forget_guards(step.predicates);
    }

    const std::unordered_map<uint32_t, size_t> places_;
    Values values_;
    Translator translator_;
    std::optional<Graph> graph_;
    std::vector<Step> steps_;
    std::vector<size_t> index_;  // of a register in a state
    size_t kept_ = 0;
    std::vector<std::vector<size_t>> active_;  // by block: instructions that change something
    std::vector<State> states_;                // at the begin of each block
    std::vector<bool> reached_;
    std::set<size_t> work_;  // blocks, the first one first: most of what reaches a block comes from above
    bool has_returned_ = false;
    State returned_;         // what all returns leave
    State unseen_returns_;   // of those that can go anywhere
    std::set<size_t> open_;  // blocks behind calls to which no return was seen to lead
    std::vector<Id> results_;

    // Code without branches reads under a guard what it wrote under the same. Within a block, while the predicate stays as it is.
    struct Guarded {
        size_t round = 0;  // that of now, or it counts no more
        int guard = kNoGuard;
        Id value = kScalar;
    };
    size_t round_ = 1;
    std::vector<Guarded> guarded_;  // by kept register
};

// --- Addresses ---

// "desc[UR4][R2.64+UR6+0x10]": the registers in the last brackets that the halves of the sum are made of.
struct Address {
    std::vector<size_t> low;
    std::vector<size_t> high;
};

std::optional<Address> address_in(const SassLine& line, std::string_view operand) {
    const size_t open = operand.rfind('[');
    const size_t close = operand.rfind(']');
    if (open == operand.npos || close == operand.npos || close < open) return std::nullopt;
    std::string_view text = operand.substr(open + 1, close - open - 1);
    Address address;
    while (!text.empty()) {
        const size_t plus = std::min(text.find('+'), text.size());
        const std::string_view part = bare(text.substr(0, plus));
        text.remove_prefix(std::min(plus + 1, text.size()));
        const auto reg = register_of(part);
        if (!reg) {
            if (!immediate(part)) return std::nullopt;
            continue;
        }
        if (*reg == kZero) continue;
        // Atomics of older GPUs have no ".64" at the register.
        const bool pair = *reg >= kUniform || part.find(".64") != part.npos || (part.find('.') == part.npos && has(line.modifiers, "E"));
        address.low.push_back(*reg);
        if (pair) address.high.push_back(std::min(*reg + 1, kRegisters - 1));
    }
    if (address.low.empty()) return std::nullopt;
    return address;
}

Roots roots_from(const Value& low, const Value& high) {
    Roots roots;
    if (low.unknown || high.unknown || high.part) return roots;
    const auto holds = [](const std::vector<uint16_t>& words, uint32_t word) {
        return std::binary_search(words.begin(), words.end(), word);
    };
    std::vector<uint16_t> others = united(united(low.added, low.used), united(high.added, high.used));
    for (const uint16_t word : low.added)
        if (word % 2 == 0 && holds(high.added, word + 1u)) roots.pointers.push_back(word / 2);
    for (const uint16_t word : others)
        if (!holds(roots.pointers, word / 2u)) roots.numbers.push_back(word);
    roots.unknown = roots.pointers.empty();
    if (roots.unknown) roots.numbers.clear();
    return roots;
}

}  // namespace

std::optional<size_t> address_operand(const SassLine& line, size_t reference) {
    for (size_t i = 0; i < line.operands.size(); ++i) {
        const std::string_view operand = line.operands[i];
        if (operand.find('[') == operand.npos || begins_with(operand, "c[") || begins_with(operand, "cx[")) continue;
        if (reference-- == 0) return i;
    }
    return std::nullopt;
}

std::vector<Roots> roots_of(const std::vector<std::optional<SassLine>>& lines, const std::vector<uint32_t>& offsets,
                            const std::optional<ParameterArea>& area, const std::vector<AddressOperand>& addresses) {
    std::vector<Roots> results(addresses.size());
    if (lines.empty() || addresses.empty() || !area) return results;
    std::vector<std::optional<Address>> parsed;
    std::unordered_map<size_t, std::vector<size_t>> wanted;
    for (size_t i = 0; i < addresses.size(); ++i) {
        const auto& line = lines[addresses[i].instruction];
        parsed.push_back(line && addresses[i].operand < line->operands.size() ? address_in(*line, line->operands[addresses[i].operand])
                                                                              : std::nullopt);
        if (parsed.back()) wanted[addresses[i].instruction].push_back(i);
    }
    std::vector<size_t> registers;
    for (const auto& address : parsed) {
        if (!address) continue;
        registers.insert(registers.end(), address->low.begin(), address->low.end());
        registers.insert(registers.end(), address->high.begin(), address->high.end());
    }
    Flow flow(lines, offsets, area, registers);
    flow.visit([&](size_t instruction, const State& state) {
        const auto found = wanted.find(instruction);
        if (found == wanted.end()) return;
        const auto half = [&](const std::vector<size_t>& of) {
            Id sum = kScalar;
            for (const size_t reg : of) sum = flow.values().join(sum, flow.value(state, instruction, reg));
            return sum;
        };
        for (const size_t i : found->second)
            results[i] = roots_from(flow.values()[half(parsed[i]->low)], flow.values()[half(parsed[i]->high)]);
    });
    return results;
}

}  // namespace snoopie
