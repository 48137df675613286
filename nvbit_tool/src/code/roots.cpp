#include "code/roots.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace snoopie {

namespace {

// --- Values ---

// What a register can hold, by the 4-byte words of the parameters. `added`: words that reach it by moves and sums alone; `used`: those that
// have a part in it otherwise.
struct Value {
    bool unknown = false;
    std::vector<uint16_t> added;
    std::vector<uint16_t> used;
    bool operator<(const Value& other) const { return std::tie(unknown, added, used) < std::tie(other.unknown, other.added, other.used); }
};

// A value in the table. Nothing but constants, indices of threads and numbers from memory: kScalar, which is also what a register holds
// that was never written.
using Id = uint32_t;
constexpr Id kScalar = 0;
constexpr Id kUnknown = 1;

// More words than this in one value, and nothing is known of it.
constexpr size_t kMostWords = 512;

std::vector<uint16_t> united(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
    std::vector<uint16_t> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

class Values {
  public:
    Values() {
        id_of({});
        id_of({true, {}, {}});
    }
    const Value& operator[](Id id) const { return *values_[id]; }

    Id id_of(Value value) {
        if (value.unknown || value.added.size() + value.used.size() > kMostWords) value = {true, {}, {}};
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
            known = id_of({false, united(one.added, other.added), united(one.used, other.used)});
        }
        return known;
    }
    // The same words, but not as a sum.
    Id as_used(Id id) {
        if (id == kScalar || id == kUnknown) return id;
        Id& known = used_[id];
        if (known == kScalar) known = id_of({false, {}, united(values_[id]->added, values_[id]->used)});
        return known;
    }

  private:
    std::map<Value, Id> ids_;
    std::vector<const Value*> values_;
    std::unordered_map<uint64_t, Id> joins_;
    std::unordered_map<Id, Id> used_;
};

// --- Operands ---

constexpr size_t kUniform = 256;  // the first uniform register, behind the general ones
constexpr size_t kRegisters = 512;
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

// R12 or UR12, with .64 and the like behind it.
std::optional<size_t> register_of(std::string_view text) {
    text = text.substr(0, text.find('.'));
    if (text == "RZ" || text == "URZ") return kZero;
    const bool uniform = begins_with(text, "UR");
    if (!uniform && !begins_with(text, "R")) return std::nullopt;
    const auto found = number<uint32_t>(text.substr(uniform ? 2 : 1), 10);
    if (!found || *found >= kUniform) return std::nullopt;
    return *found + (uniform ? kUniform : 0);
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

struct Term {
    Word word;
    bool added = false;
};

struct Write {
    size_t reg = 0;
    std::vector<Term> terms;  // the register then holds what these do
    bool unknown = false;
};

struct Step {
    std::vector<Write> writes;
    bool all_unknown = false;  // it may write anything
    bool joins = false;        // it may not run: what was there can stay
};

// Sources reach the result as they are.
constexpr std::array<std::string_view, 24> kSums = {"MOV",    "MOV32I", "UMOV",   "IADD",    "IADD3",  "IADD32I", "VIADD", "UVIADD",
                                                    "UIADD3", "SEL",    "FSEL",   "USEL",    "LOP3",   "LOP32I",  "ULOP3", "PRMT",
                                                    "UPRMT",  "IMNMX",  "VIMNMX", "VIMNMX3", "UIMNMX", "UVIMNMX", "R2UR",  "VIADDMNMX"};
constexpr std::array<std::string_view, 2> kProducts = {"IMAD", "UIMAD"};
constexpr std::array<std::string_view, 2> kShiftedSums = {"LEA", "ULEA"};
constexpr std::array<std::string_view, 3> kParameterLoads = {"LDC", "ULDC", "LDCU"};
// Indices, clocks, masks of lanes.
constexpr std::array<std::string_view, 13> kScalars = {"S2R",   "CS2R",  "S2UR",  "CS2UR", "P2R", "UP2UR", "VOTE",
                                                       "VOTEU", "MATCH", "ELECT", "POPC",  "FLO", "LEPC"};
// Uniform results of other kinds: of integers and floating-point numbers.
constexpr std::array<std::string_view, 21> kUniformArithmetic = {"USHF",  "UBMSK",  "UBREV", "UFLO",  "UPOPC", "USGXT", "ULEPC",
                                                                 "REDUX", "CREDUX", "UFADD", "UFMUL", "UFFMA", "UI2F",  "UF2I",
                                                                 "UI2FP", "UFRND",  "UFSEL", "UIABS", "UF2F",  "UF2FP", "UFMNMX"};
// No register, general or uniform.
constexpr std::array<std::string_view, 68> kNoResult = {
    "ACQBULK", "BAR",      "BREAK",    "BSYNC",     "BSSY",   "CCTL",         "CCTLL",       "CGAERRBAR",    "DEPBAR",     "ERRBAR",
    "EXIT",    "FENCE",    "KILL",     "LDGDEPBAR", "LDGSTS", "MEMBAR",       "NANOSLEEP",   "NOP",          "PREEXIT",    "RED",
    "REDG",    "REDS",     "RET",      "ST",        "STAS",   "STG",          "STL",         "STS",          "STSM",       "REDAS",
    "BRA",     "JMP",      "WARPSYNC", "YIELD",     "ISETP",  "FSETP",        "DSETP",       "HSETP2",       "PLOP3",      "PSETP",
    "CSETP",   "FCHK",     "R2P",      "UISETP",    "UPLOP3", "UPSETP",       "UFSETP",      "UTMALDG",      "UTMASTG",    "UTMAREDG",
    "UTMAPF",  "UTMACCTL", "UBLKCP",   "UBLKRED",   "UBLKPF", "UTMACMDFLUSH", "UCGABAR_ARV", "UCGABAR_WAIT", "USETMAXREG", "WARPGROUP",
    "BPT",     "UTCBAR",   "UTCHMMA",  "UTCQMMA",   "UTCCP",  "STTM",         "SUST",        "ENDCOLLECTIVE"};

class Translator {
  public:
    Translator(const std::optional<ParameterArea>& area, Values* values) : area_(area), values_(*values) {
        if (area_ && area_->bytes / 4 <= kMostWords) {
            Value every;
            for (uint32_t word = 0; word < area_->bytes / 4; ++word) every.added.push_back(static_cast<uint16_t>(word));
            every_ = values_.id_of(every);
        }
    }

    Step step_of(const SassLine& line) {
        Step step;
        step.joins = line.guard != SassLine::kAlways || line.guard_negated;
        if (one_of(line.name, kNoResult) || line.name == "CALL") return step;
        size_t first = 0;  // the result, behind predicates
        while (first < line.operands.size() && is_predicate(line.operands[first])) ++first;
        std::optional<size_t> result;
        if (first < line.operands.size()) result = register_of(line.operands[first]);
        const std::vector<std::string_view> sources = sources_of(line, first + 1);
        const SassEffect effect = effect_of(line);
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
        return values_.id_of({false, {static_cast<uint16_t>((offset - area_->base) / 4)}, {}});
    }

  private:
    static std::vector<std::string_view> sources_of(const SassLine& line, size_t from) {
        std::vector<std::string_view> sources;
        for (size_t i = from; i < line.operands.size(); ++i)
            if (!is_predicate(line.operands[i])) sources.push_back(bare(line.operands[i]));
        return sources;
    }

    // One 32-bit word of a source, from its lowest.
    Word word_of(std::string_view source, uint32_t word) const {
        if (const auto reg = register_of(source)) return {*reg == kZero ? kZero : std::min<size_t>(*reg + word, kRegisters - 1), kScalar};
        if (constant_of(source)) return {kZero, constant(source, word)};
        if (begins_with(source, "[") || begins_with(source, "desc") || begins_with(source, "gdesc")) return {kZero, kUnknown};
        return {};  // an immediate
    }
    void add(std::string_view source, uint32_t word, bool added, Write* write) const {
        const Word found = word_of(source, word);
        if (found.reg != kZero || found.value != kScalar) write->terms.push_back({found, added});
    }

    // Results of `count` registers from `reg` on.
    void arithmetic(const SassLine& line, size_t reg, size_t count, const std::vector<std::string_view>& sources, Step* step) {
        const bool wide = count > 1;
        for (uint32_t k = 0; k < count && reg != kZero; ++k) {
            Write write{std::min(reg + k, kRegisters - 1), {}, false};
            const auto source = [&](size_t i) { return i < sources.size() ? sources[i] : std::string_view("RZ"); };
            // Both words of a source have a part in both words of a product.
            const auto use = [&](size_t i, bool pair) {
                add(source(i), 0, false, &write);
                if (pair) add(source(i), 1, false, &write);
            };
            if (one_of(line.name, kScalars)) {
                // no terms
            } else if (line.name == "SHFL") {
                add(source(0), 0, true, &write);
            } else if (one_of(line.name, kSums)) {
                for (size_t i = 0; i < sources.size(); ++i) add(source(i), k, true, &write);
            } else if (one_of(line.name, kProducts) && !has(line.modifiers, "HI")) {
                const bool by_one = !wide && source(1) == "0x1";
                if (by_one)
                    add(source(0), 0, true, &write);
                else
                    use(0, false);
                use(1, false);
                add(source(2), k, true, &write);
            } else if (one_of(line.name, kShiftedSums)) {
                use(0, wide);
                add(source(1), k, true, &write);
                for (size_t i = 2; i < sources.size(); ++i) use(i, wide);
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
            for (size_t k = 0; k < 8 && reg != kZero; ++k) step->writes.push_back({std::min(reg + k, kRegisters - 1), {}, true});
    }

    void parameter_load(size_t reg, size_t count, const std::vector<std::string_view>& sources, Step* step) {
        for (uint32_t k = 0; k < count && reg != kZero; ++k) {
            Write write{std::min(reg + k, kRegisters - 1), {}, false};
            // A number of 32 bits from another bank is an index; two of them at once can be a pointer.
            const auto from = sources.empty() ? std::nullopt : constant_of(sources[0]);
            const bool index =
                from && !from->parameters && count == 1 && !begins_with(sources[0], "c[0x4]") && begins_with(sources[0], "c[0x");
            if (!index) write.terms.push_back({{kZero, sources.empty() ? kUnknown : constant(sources[0], k)}, true});
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
            step->writes.push_back({written.front(), {}, false});
        } else if (begins_with(line.name, "LD") || begins_with(line.name, "ATOM") || line.name == "HMMA" || line.name == "IMMA" ||
                   line.name == "QSPC") {
            for (const size_t reg : written) step->writes.push_back({reg, {}, true});
        } else {
            arithmetic(line, written.front(), written.size(), sources, step);
        }
    }

    // An instruction that is not known, but of some it is known where their results are.
    void write_unknown(const SassLine& line, size_t first, Step* step) {
        const auto forget = [&](size_t reg, size_t count) {
            for (size_t k = 0; reg < kUniform && k < count && reg + k < kUniform - 1; ++k) step->writes.push_back({reg + k, {}, true});
        };
        const auto result = first < line.operands.size() ? register_of(line.operands[first]) : std::nullopt;
        if (result && line.name.size() > 4 && line.name.substr(line.name.size() - 4) == "GMMA") {
            // "64x128x16.F32": a warp group's 64 × N results, at most one a register.
            const size_t x = line.modifiers.find('x');
            const auto digits = line.modifiers.substr(std::min(x + 1, line.modifiers.size()));
            if (const auto n = number<uint32_t>(digits.substr(0, digits.find('x')), 10)) return forget(*result, *n / 2);
        }
        // Vectors and 256 bits in one or two results.
        if (line.name == "LDG" || line.name == "LD" || line.name == "LDGMC" || begins_with(line.name, "ATOM")) {
            for (const std::string_view operand : line.operands)
                if (const auto reg = register_of(operand)) forget(*reg, 4);
            return;
        }
        if (line.name == "SYNCS" || line.name == "TEX" || line.name == "TLD" || line.name == "TLD4" || line.name == "TXQ" ||
            line.name == "SULD" || line.name == "BMOV") {
            for (const std::string_view operand : line.operands)
                if (const auto reg = register_of(operand)) forget(*reg, 4);
            return;
        }
        step->all_unknown = true;
    }

    const std::optional<ParameterArea>& area_;
    Values& values_;
    Id every_ = kUnknown;
};

// --- The flow of control ---

struct Block {
    size_t begin = 0;
    size_t end = 0;
    std::vector<size_t> next;        // blocks
    std::vector<size_t> forgetting;  // the same, behind the call of another function: everything may have changed
};

// None if control can go to places that are not known.
std::optional<std::vector<Block>> blocks_of(const std::vector<std::optional<SassLine>>& lines, const std::vector<SassEffect>& effects,
                                            const std::vector<uint32_t>& offsets) {
    std::unordered_map<uint32_t, size_t> at;
    for (size_t i = 0; i < offsets.size(); ++i) at.emplace(offsets[i], i);
    std::vector<bool> begins(lines.size() + 1, false);
    begins[0] = true;
    const bool has_returns = std::any_of(lines.begin(), lines.end(), [](const auto& line) { return line && line->name == "RET"; });
    std::vector<size_t> meetings;  // where the lanes that wait for each other go on
    std::vector<size_t> returns;   // where a local function can return to: behind its calls, and places that the code names
    for (size_t i = 0; i < lines.size(); ++i) {
        if (!lines[i] || effects[i].anywhere) return std::nullopt;
        if (effects[i].ends_block) begins[i + 1] = true;
        for (const uint32_t target : effects[i].targets) {
            const auto found = at.find(target);
            if (found == at.end()) continue;
            begins[found->second] = true;
            if (lines[i]->name == "BSSY") meetings.push_back(found->second);
        }
        for (const std::string_view operand : lines[i]->operands) {
            const auto place = immediate(operand);
            const auto found = place ? at.find(*place) : at.end();
            if (found == at.end() || !has_returns) continue;
            begins[found->second] = true;
            returns.push_back(found->second);
        }
        if (lines[i]->name == "CALL") returns.push_back(i + 1);
    }
    std::vector<size_t> block_of(lines.size() + 1, 0);
    std::vector<Block> blocks;
    for (size_t i = 0; i < lines.size(); ++i) {
        if (begins[i]) blocks.push_back({i, i, {}, {}});
        blocks.back().end = i + 1;
        block_of[i] = blocks.size() - 1;
    }
    for (Block& block : blocks) {
        const size_t last = block.end - 1;
        const SassLine& line = *lines[last];
        const auto go = [&](size_t to) {
            if (to < lines.size()) block.next.push_back(block_of[to]);
        };
        const bool always = line.guard == SassLine::kAlways && !line.guard_negated;
        const std::string_view name = line.name;
        bool local = false;
        for (size_t i = block.begin; i < block.end; ++i) {
            if (lines[i]->name == "MOV") continue;  // its number is a place to return to, which RET goes to
            for (const uint32_t target : effects[i].targets)
                if (const auto found = at.find(target); found != at.end()) {
                    go(found->second);
                    local = true;
                }
        }
        if (name == "BSYNC" || name == "BREAK" || name == "WARPSYNC" || name == "YIELD")
            for (const size_t to : meetings) go(to);
        if (name == "RET")
            for (const size_t to : returns) go(to);
        if (name == "CALL" && !local && block.end < lines.size()) block.forgetting.push_back(block_of[block.end]);
        const bool leaves = name == "EXIT" || name == "KILL" || name == "RET" || name == "BRA" || name == "JMP" || name == "CALL";
        // "BRA UP0, 0x10" and "BRA.DIV" have conditions of their own.
        const bool conditional = !always || line.operands.size() > 1 || !line.modifiers.empty();
        if (!leaves || (name == "CALL" ? !always : conditional)) go(block.end);
    }
    return blocks;
}

using State = std::vector<Id>;

class Flow {
  public:
    Flow(const std::vector<std::optional<SassLine>>& lines, const std::vector<uint32_t>& offsets, const std::optional<ParameterArea>& area)
        : lines_(lines), translator_(area, &values_) {
        std::vector<SassEffect> effects;
        for (const auto& line : lines) effects.push_back(line ? effect_of(*line) : SassEffect());
        blocks_ = blocks_of(lines, effects, offsets);
        if (!blocks_ || !area) return;
        for (const auto& line : lines) steps_.push_back(translator_.step_of(*line));
        run();
    }

    bool known() const { return !states_.empty(); }

    // In the order of the instructions.
    template <class Visit>
    void visit(Visit visit) {
        for (size_t b = 0; b < blocks_->size(); ++b) {
            if (states_[b].empty()) continue;  // never reached
            State state = states_[b];
            for (size_t i = (*blocks_)[b].begin; i < (*blocks_)[b].end; ++i) {
                visit(i, state);
                apply(steps_[i], &state);
            }
        }
    }

    Id value(const State& state, size_t reg) const { return reg >= kRegisters ? kScalar : state[reg]; }
    Values& values() { return values_; }
    const Translator& translator() const { return translator_; }

  private:
    void run() {
        states_.resize(blocks_->size());
        states_[0].assign(kRegisters, kScalar);
        std::deque<size_t> work{0};
        std::vector<bool> waiting(blocks_->size(), false);
        while (!work.empty()) {
            const size_t b = work.front();
            work.pop_front();
            waiting[b] = false;
            const Block& block = (*blocks_)[b];
            State state = states_[b];
            for (size_t i = block.begin; i < block.end; ++i) apply(steps_[i], &state);
            const auto reach = [&](size_t to, const State& with) {
                if (join(with, &states_[to]) && !waiting[to]) {
                    waiting[to] = true;
                    work.push_back(to);
                }
            };
            for (const size_t to : block.next) reach(to, state);
            if (block.forgetting.empty()) continue;
            const State forgotten(kRegisters, kUnknown);
            for (const size_t to : block.forgetting) reach(to, forgotten);
        }
    }

    bool join(const State& from, State* to) {
        if (to->empty()) {
            *to = from;
            return true;
        }
        bool changed = false;
        for (size_t r = 0; r < kRegisters; ++r) {
            const Id both = values_.join((*to)[r], from[r]);
            changed |= both != (*to)[r];
            (*to)[r] = both;
        }
        return changed;
    }

    void apply(const Step& step, State* state) {
        if (step.all_unknown) {
            state->assign(kRegisters, kUnknown);
            return;
        }
        results_.clear();
        for (const Write& write : step.writes) {
            Id result = write.unknown ? kUnknown : kScalar;
            for (const Term& term : write.terms) {
                const Id one = term.word.reg == kZero ? term.word.value : (*state)[term.word.reg];
                result = values_.join(result, term.added ? one : values_.as_used(one));
            }
            results_.push_back(step.joins ? values_.join((*state)[write.reg], result) : result);
        }
        for (size_t i = 0; i < step.writes.size(); ++i) (*state)[step.writes[i].reg] = results_[i];
    }

    const std::vector<std::optional<SassLine>>& lines_;
    Values values_;
    Translator translator_;
    std::optional<std::vector<Block>> blocks_;
    std::vector<Step> steps_;
    std::vector<State> states_;  // at the begin of each block; empty: not reached
    std::vector<Id> results_;
};

// --- Addresses ---

// "desc[UR4][R2.64+UR6+0x10]": what is in the last brackets. The halves of the sum.
std::pair<Id, Id> address_in(const SassLine& line, std::string_view operand, const State& state, Flow* flow) {
    const size_t open = operand.rfind('[');
    const size_t close = operand.rfind(']');
    if (open == operand.npos || close == operand.npos || close < open) return {kUnknown, kUnknown};
    std::string_view text = operand.substr(open + 1, close - open - 1);
    Id low = kScalar;
    Id high = kScalar;
    bool any = false;
    while (!text.empty()) {
        const size_t plus = std::min(text.find('+'), text.size());
        const std::string_view part = bare(text.substr(0, plus));
        text.remove_prefix(std::min(plus + 1, text.size()));
        const auto reg = register_of(part);
        if (!reg) {
            if (!immediate(part)) return {kUnknown, kUnknown};
            continue;
        }
        if (*reg == kZero) continue;
        any = true;
        // Atomics of older GPUs have no ".64" at the register.
        const bool pair = *reg >= kUniform || part.find(".64") != part.npos || (part.find('.') == part.npos && has(line.modifiers, "E"));
        low = flow->values().join(low, flow->value(state, *reg));
        if (pair) high = flow->values().join(high, flow->value(state, std::min(*reg + 1, kRegisters - 1)));
    }
    if (!any) return {kUnknown, kUnknown};
    return {low, high};
}

Roots roots_from(const Value& low, const Value& high) {
    Roots roots;
    if (low.unknown || high.unknown) return roots;
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
    Flow flow(lines, offsets, area);
    if (!flow.known()) return results;
    std::unordered_map<size_t, std::vector<size_t>> wanted;
    for (size_t i = 0; i < addresses.size(); ++i) wanted[addresses[i].instruction].push_back(i);
    flow.visit([&](size_t instruction, const State& state) {
        const auto found = wanted.find(instruction);
        if (found == wanted.end()) return;
        const SassLine& line = *lines[instruction];
        for (const size_t i : found->second) {
            if (addresses[i].operand >= line.operands.size()) continue;
            const auto [low, high] = address_in(line, line.operands[addresses[i].operand], state, &flow);
            results[i] = roots_from(flow.values()[low], flow.values()[high]);
        }
    });
    return results;
}

}  // namespace snoopie
