// The ways that control takes in a function, each with what a launch's parameters say of it; see launch_paths.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "code/followed_graph.h"
#include "code/followed_steps.h"
#include "code/launch_paths.h"
#include "code/listing.h"
#include "code/sass_operands.h"

namespace snoopie::following {

// What registers and predicates hold where it is made from parameters and constants alone. Anything else is not known: what an instruction
// writes that is not among the few that are looked at here, and what differs where control flow joins.
class Facts {
  public:
    using Term = LaunchPaths::Term;
    using State = std::vector<Term>;

    Facts(const Listing& listing, const std::optional<ParameterArea>& area, const std::vector<Step>& steps, LaunchPaths* paths)
        : listing_(listing), area_(area), steps_(steps), paths_(*paths), true_(paths->number(1)), false_(paths->number(0)) {
        for (size_t i = 0; i < listing.lines.size(); ++i) {
            kinds_.push_back(kind_of(*listing.lines[i]));
            uniform_.push_back(uniform_predicates(*listing.lines[i], kinds_.back(), listing.effects[i].unknown));
        }
    }

    static State none() { return State(kPlaces, LaunchPaths::kNotKnown); }

    static bool join(const State& from, State* to) {
        bool changed = false;
        for (size_t i = 0; i < kPlaces; ++i) {
            if ((*to)[i] == from[i] || (*to)[i] == LaunchPaths::kNotKnown) continue;
            (*to)[i] = LaunchPaths::kNotKnown;
            changed = true;
        }
        return changed;
    }

    void apply(size_t i, State* state) {
        const Step& step = steps_[i];
        if (step.all_unknown) {
            *state = none();
            return;
        }
        results_.clear();
        if (kinds_[i] != Kind::other && kinds_[i] != Kind::reads) evaluate(*listing_.lines[i], kinds_[i], *state);
        // Under a guard it may not be written.
        if (step.joins)
            for (auto& [place, term] : results_)
                if ((*state)[place] != term) term = LaunchPaths::kNotKnown;
        for (const Write& write : step.writes)
            if (write.reg < kPredicates) (*state)[write.reg] = LaunchPaths::kNotKnown;
        for (size_t p = 0; p < kOfAKind; ++p) {
            if (p < 7 && (step.predicates >> p & 1)) (*state)[kPredicates + p] = LaunchPaths::kNotKnown;
            if (uniform_[i] >> p & 1) (*state)[kUniformPredicates + p] = LaunchPaths::kNotKnown;
        }
        for (const auto& [place, term] : results_) (*state)[place] = term;
    }

    // Whether an instruction runs; none if it always does.
    std::optional<Term> guard(size_t i, const State& state) const {
        const SassLine& line = *listing_.lines[i];
        if (line.guard == SassLine::kAlways) return line.guard_negated ? std::optional(LaunchPaths::kNotKnown) : std::nullopt;
        const Term term = state[(line.guard_uniform ? kUniformPredicates : kPredicates) + static_cast<size_t>(line.guard)];
        return line.guard_negated ? negated(term) : term;
    }

    // Whether a branch or an exit is taken; none if it always is or nothing is known of it.
    std::optional<Term> taken(size_t i, const State& state) const {
        const SassLine& line = *listing_.lines[i];
        if (line.name == "EXIT" && line.modifiers.empty() && line.operands.empty()) return guard(i, state);
        if (line.name != "BRA" || (!line.modifiers.empty() && line.modifiers != "U") || line.operands.size() > 2) return std::nullopt;
        const std::optional<Term> one = guard(i, state);
        if (line.operands.size() < 2) return one;
        const Term other = truth(line.operands[0], state);
        return one ? paths_.looked_up(kAnd, *one, other, true_) : other;
    }

  private:
    enum class Kind : uint8_t { other, reads, load, move, product, zero, sum, bounded_sum, logic, compare, predicates };
    static constexpr size_t kOfAKind = 10;
    static constexpr size_t kPredicates = kBarrier;  // behind all registers
    static constexpr size_t kUniformPredicates = kPredicates + kOfAKind;
    static constexpr size_t kPlaces = kUniformPredicates + kOfAKind;
    static constexpr uint8_t kAnd = 0xc0, kOr = 0xfc, kExclusive = 0x3c, kNot = 0x0f;

    static Kind kind_of(const SassLine& line) {
        if (one_of(line.name, kParameterLoads)) return Kind::load;
        if (line.name == "MOV" || line.name == "UMOV" || line.name == "MOV32I" || line.name == "R2UR") return Kind::move;
        if (line.name == "IMAD" || line.name == "UIMAD") return Kind::product;
        if (line.name == "CS2R") return Kind::zero;
        if (line.name == "VIADD" || line.name == "UVIADD" || line.name == "IADD3" || line.name == "UIADD3") return Kind::sum;
        if (line.name == "VIADDMNMX") return Kind::bounded_sum;
        if (line.name == "LOP3" || line.name == "ULOP3") return Kind::logic;
        if (line.name == "ISETP" || line.name == "UISETP") return Kind::compare;
        if (line.name == "PLOP3" || line.name == "UPLOP3") return Kind::predicates;
        constexpr std::array<std::string_view, 6> kReads = {"BRA", "EXIT", "SEL", "USEL", "FSEL", "BRX"};
        return one_of(line.name, kReads) ? Kind::reads : Kind::other;
    }

    // Those that it may write: all that it names, but for instructions whose results are the first two operands; of one that is not known,
    // all.
    static uint16_t uniform_predicates(const SassLine& line, Kind kind, bool unknown) {
        constexpr uint16_t kAll = (1u << kOfAKind) - 1;
        if (kind == Kind::reads) return 0;
        const auto in = [&](const auto&... lists) { return (one_of(line.name, lists) || ...); };
        if (unknown && kind == Kind::other && !in(kSums, kShiftedSums, kScalars, kUniformArithmetic, kNoResult, kLoads)) return kAll;
        uint16_t found = 0;
        const size_t results = kind == Kind::compare || kind == Kind::predicates ? 2 : line.operands.size();
        for (size_t i = 0; i < std::min(results, line.operands.size()); ++i) {
            const std::string_view operand = bare(line.operands[i]);
            if (operand == "UPR") return kAll;
            if (const auto place = predicate_place(operand); place && *place >= kUniformPredicates)
                found |= static_cast<uint16_t>(1u << (*place - kUniformPredicates));
        }
        return found;
    }

    // Of P0 and UP0; none of PT.
    static std::optional<size_t> predicate_place(std::string_view text) {
        const bool uniform = begins_with(text, "U");
        if (uniform) text.remove_prefix(1);
        if (text.size() != 2 || text[0] != 'P' || text[1] < '0' || text[1] > '9') return std::nullopt;
        return (uniform ? kUniformPredicates : kPredicates) + static_cast<size_t>(text[1] - '0');
    }

    Term negated(Term term) const { return paths_.looked_up(kNot, term, true_, true_); }

    Term truth(std::string_view text, const State& state) const {
        const bool negative = begins_with(text, "!");
        if (negative) text.remove_prefix(1);
        if (text == "PT" || text == "UPT") return negative ? false_ : true_;
        const auto place = predicate_place(text);
        if (!place) return LaunchPaths::kNotKnown;
        return negative ? negated(state[*place]) : state[*place];
    }

    // A word of a parameter; `with_sign` where it is less than 32 bits.
    Term parameter(std::string_view text, uint32_t bytes, uint32_t behind, bool with_sign) const {
        const auto constant = constant_of(text);
        if (!constant || !constant->parameters || constant->indexed || !area_) return LaunchPaths::kNotKnown;
        const uint32_t offset = constant->offset + behind;
        if (offset < area_->base || offset + bytes > area_->base + area_->bytes) return LaunchPaths::kNotKnown;
        return paths_.parameter(offset - area_->base, bytes, with_sign);
    }

    // Of 32 bits.
    Term number(std::string_view text, const State& state) const {
        if (const auto value = immediate(text)) return paths_.number(*value);
        if (begins_with(text, "c[")) return parameter(text, 4, 0, false);
        if (const size_t dot = text.find('.'); dot != text.npos && text.substr(dot) != ".reuse") return LaunchPaths::kNotKnown;
        const auto reg = register_of(text);
        if (!reg) return LaunchPaths::kNotKnown;
        return *reg == kZero ? false_ : state[*reg];
    }

    void result(std::string_view operand, uint32_t behind, Term term) {
        const auto reg = register_of(operand);
        if (!reg || *reg == kZero || term == LaunchPaths::kNotKnown) return;
        const size_t place = *reg + behind;
        if (place < kPredicates && (place < kUniform) == (*reg < kUniform)) results_.push_back({place, term});
    }
    void truth_result(std::string_view operand, Term term) {
        if (const auto place = predicate_place(operand); place && term != LaunchPaths::kNotKnown) results_.push_back({*place, term});
    }

    void evaluate(const SassLine& line, Kind kind, const State& state) {
        const auto& operands = line.operands;
        const size_t count = operands.size();
        const auto is_zero = [&](size_t i) { return operands[i] == "RZ" || operands[i] == "URZ"; };
        switch (kind) {
            case Kind::load:
                if (count == 2) load(line);
                break;
            case Kind::move:
                if (count == 2 && line.modifiers.empty()) result(operands[0], 0, number(operands[1], state));
                break;
            case Kind::product: {
                const bool plain =
                    line.modifiers.empty() || line.modifiers == "MOV" || line.modifiers == "U32" || line.modifiers == "MOV.U32";
                if (count == 4 && plain && is_zero(1) && is_zero(2)) result(operands[0], 0, number(operands[3], state));
                break;
            }
            case Kind::zero:
                for (uint32_t k = 0; count == 2 && line.modifiers.empty() && operands[1] == "SRZ" && k < 2; ++k)
                    result(operands[0], k, false_);
                break;
            case Kind::sum:
                sum(line, state);
                break;
            case Kind::bounded_sum: {
                const bool with_sign = line.modifiers.empty();
                if ((!with_sign && line.modifiers != "U32") || count != 5) break;
                const Term both = paths_.sum(number(operands[1], state), number(operands[2], state));
                const Term bound = number(operands[3], state);
                if (operands[4] == "PT") result(operands[0], 0, paths_.smaller(with_sign, both, bound));
                if (operands[4] == "!PT") result(operands[0], 0, paths_.larger(with_sign, both, bound));
                break;
            }
            case Kind::logic:
                logic(line, state);
                break;
            case Kind::compare:
                compare(line, state);
                break;
            case Kind::predicates:
                if (line.modifiers != "LUT" || count != 7) break;
                if (const auto table = immediate(operands[5]))
                    truth_result(operands[0], paths_.looked_up(static_cast<uint8_t>(*table), truth(operands[2], state),
                                                               truth(operands[3], state), truth(operands[4], state)));
                break;
            default:
                break;
        }
    }

    void load(const SassLine& line) {
        const std::string_view type = line.modifiers;
        const std::string_view to = line.operands[0];
        const std::string_view from = line.operands[1];
        const uint32_t words = type.empty() ? 1 : type == "64" ? 2 : type == "128" ? 4 : 0;
        for (uint32_t k = 0; k < words; ++k) result(to, k, parameter(from, 4, 4 * k, false));
        if (type == "U8" || type == "S8") result(to, 0, parameter(from, 1, 0, type == "S8"));
        if (type == "U16" || type == "S16") result(to, 0, parameter(from, 2, 0, type == "S16"));
    }

    // "IADD3 R0, R2, 0x1, RZ", and with places for two carries that nobody wants "IADD3 R0, PT, PT, R2, 0x1, RZ".
    void sum(const SassLine& line, const State& state) {
        const auto& operands = line.operands;
        size_t first = 1;
        while (first < 3 && first < operands.size() && operands[first] == "PT") ++first;
        const size_t count = operands.size() - std::min(first, operands.size());
        if (!line.modifiers.empty() || count < 2 || count > 3 || is_predicate(operands[first])) return;
        if (count == 3 && operands[first + 2] != "RZ" && operands[first + 2] != "URZ") return;
        result(operands[0], 0, paths_.sum(number(operands[first], state), number(operands[first + 1], state)));
    }

    // Both, "LOP3.LUT R0, R2, 0x1, RZ, 0xc0, !PT"; also with whether there is any bit: "LOP3.LUT P0, RZ, R2, 0x1, RZ, 0xc0, !PT".
    void logic(const SassLine& line, const State& state) {
        const auto& operands = line.operands;
        const bool asks = !operands.empty() && is_predicate(operands[0]);
        const size_t first = asks ? 1 : 0;
        if (line.modifiers != "LUT" || operands.size() != first + 6 || operands[first + 4] != "0xc0") return;
        if (operands[first + 5] != "!PT" && operands[first + 5] != "!UPT") return;
        const Term both = paths_.masked(number(operands[first + 1], state), number(operands[first + 2], state));
        result(operands[first], 0, both);
        if (asks) truth_result(operands[0], paths_.compared(LaunchPaths::Compare::not_equal, false, both, false_));
    }

    void compare(const SassLine& line, const State& state) {
        using Compare = LaunchPaths::Compare;
        constexpr std::array<std::string_view, 6> kCompares = {"EQ", "NE", "LT", "LE", "GT", "GE"};
        const auto& operands = line.operands;
        std::optional<Compare> how;
        bool with_sign = true, upper = false;
        uint8_t table = 0;
        std::string_view modifiers = line.modifiers;
        while (!modifiers.empty()) {
            const size_t dot = std::min(modifiers.find('.'), modifiers.size());
            const std::string_view one = modifiers.substr(0, dot);
            modifiers.remove_prefix(std::min(dot + 1, modifiers.size()));
            const auto found = std::find(kCompares.begin(), kCompares.end(), one);
            if (found != kCompares.end())
                how = static_cast<Compare>(found - kCompares.begin());
            else if (one == "U32")
                with_sign = false;
            else if (one == "EX")
                upper = true;
            else if (one == "AND" || one == "OR" || one == "XOR")
                table = one == "AND" ? kAnd : one == "OR" ? kOr : kExclusive;
            else
                return;
        }
        if (!how || table == 0 || operands.size() != (upper ? 6u : 5u)) return;
        const std::optional<Term> lower = upper ? std::optional(truth(operands[5], state)) : std::nullopt;
        const Term said = paths_.compared(*how, with_sign, number(operands[2], state), number(operands[3], state), lower);
        truth_result(operands[0], paths_.looked_up(table, said, truth(operands[4], state), true_));
    }

    const Listing& listing_;
    const std::optional<ParameterArea>& area_;
    const std::vector<Step>& steps_;
    LaunchPaths& paths_;
    const Term true_;
    const Term false_;
    std::vector<Kind> kinds_;
    std::vector<uint16_t> uniform_;  // predicates that an instruction may write
    std::vector<std::pair<size_t, Term>> results_;
};

// A way from block to block. `forgets`: another function may have written any register on it.
struct Way {
    size_t from = 0;
    size_t to = 0;
    bool forgets = false;
};

// Of a graph whose first block is the kernel's begin. Each block is the place of its number; `guarded` instructions have places of their
// own, which are returned in their order.
inline std::vector<size_t> lay_paths(const Listing& listing, const Graph& graph, const std::vector<Way>& ways,
                                     const std::vector<size_t>& guarded, Facts* facts, LaunchPaths* paths) {
    std::vector<std::vector<const Way*>> from(graph.blocks.size());
    for (const Way& way : ways) from[way.from].push_back(&way);
    std::vector<std::optional<Facts::State>> states(graph.blocks.size());
    std::set<size_t> open{0};
    states[0] = Facts::none();
    while (!open.empty()) {
        const size_t b = *open.begin();
        open.erase(open.begin());
        Facts::State state = *states[b];
        for (size_t i = graph.blocks[b].begin; i < graph.blocks[b].end; ++i) facts->apply(i, &state);
        for (const Way* way : from[b]) {
            std::optional<Facts::State>& there = states[way->to];
            const bool is_new = !there;
            if (is_new) there = way->forgets ? Facts::none() : state;
            if (is_new || Facts::join(way->forgets ? Facts::none() : state, &*there)) open.insert(way->to);
        }
    }
    for (size_t b = 0; b < graph.blocks.size(); ++b) paths->add_place();
    std::vector<size_t> places;
    for (size_t g = 0; g < guarded.size(); ++g) places.push_back(paths->add_place());
    for (size_t b = 0; b < graph.blocks.size(); ++b) {
        if (!states[b]) continue;
        const size_t last = graph.blocks[b].end - 1;
        Facts::State state = *states[b];
        for (size_t i = graph.blocks[b].begin; i <= last; ++i) {
            const auto found = std::lower_bound(guarded.begin(), guarded.end(), i);
            if (found != guarded.end() && *found == i)
                paths->lead(b, places[static_cast<size_t>(found - guarded.begin())],
                            facts->guard(i, state).value_or(LaunchPaths::kNotKnown));
            if (i < last) facts->apply(i, &state);
        }
        const std::optional<LaunchPaths::Term> taken = facts->taken(last, state);
        const std::optional<size_t> behind = last + 1 < listing.lines.size() ? std::optional(graph.block_of[last + 1]) : std::nullopt;
        const auto& targets = listing.effects[last].targets;
        const bool to_behind =
            last + 1 < listing.lines.size() && std::find(targets.begin(), targets.end(), listing.offsets[last + 1]) != targets.end();
        for (const Way* way : from[b]) {
            if (taken && !to_behind)
                paths->lead(b, way->to, *taken, way->to != behind);
            else
                paths->lead(b, way->to);
        }
    }
    return places;
}

}  // namespace snoopie::following
