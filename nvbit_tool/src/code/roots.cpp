#include "code/roots.h"

#include <algorithm>
#include <bitset>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "code/followed_graph.h"
#include "code/followed_paths.h"
#include "code/followed_steps.h"
#include "code/followed_values.h"
#include "code/sass_operands.h"

namespace snoopie {

using namespace following;

namespace {

using State = std::vector<Id>;

// Only the registers that can get into the wanted ones are followed.
class Flow {
  public:
    Flow(const Listing& listing, const std::optional<ParameterArea>& area, std::vector<size_t> wanted)
        : places_(places_of(listing.offsets)) {
        const auto& lines = listing.lines;
        // Control can go to places that are not known.
        if (listing.begins.empty() || !std::all_of(lines.begin(), lines.end(), [](const auto& line) { return line.has_value(); })) return;
        Translator translator(area, places_, has_plain_stack(listing), &values_, &reads_);
        for (size_t i = 0; i < lines.size(); ++i) steps_.push_back(translator.step_of(*lines[i], listing.effects[i], i));
        graph_ = graph_of(listing, steps_, places_);
        share_parts();
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

    // Where an instruction runs that loads a part of a value; guarded ones are told apart.
    bool is_guarded(size_t instruction) const { return steps_[instruction].joins; }
    size_t block_of(size_t instruction) const { return graph_->block_of[instruction]; }

    // Lays the ways that control was found to take, and says what is read on them. The places of the guarded instructions are returned.
    std::vector<size_t> lay(const Listing& listing, const std::optional<ParameterArea>& area, const std::vector<size_t>& guarded,
                            LaunchPaths* paths) {
        Values values;
        Reads reads;
        Translator translator(area, places_, false, &values, &reads);
        std::vector<Step> steps;
        for (size_t i = 0; i < steps_.size(); ++i) steps.push_back(translator.step_of(*listing.lines[i], listing.effects[i], i));
        Facts facts(listing, area, steps, paths);
        std::vector<size_t> places = lay_paths(listing, *graph_, ways(), guarded, &facts, paths);
        for (const auto& [instruction, word] : reads_) paths->read_at(graph_->block_of[instruction], word);
        return places;
    }

  private:
    static std::unordered_map<uint32_t, size_t> places_of(const std::vector<uint32_t>& offsets) {
        std::unordered_map<uint32_t, size_t> places;
        for (size_t i = 0; i < offsets.size(); ++i) places.emplace(offsets[i], i);
        return places;
    }

    // What the unguarded instructions of a block load comes from there alike: as if the first of them had loaded it. A guarded one stands
    // for itself alone.
    void share_parts() {
        for (const Block& block : graph_->blocks) {
            std::optional<size_t> first;
            for (size_t i = block.begin; i < block.end; ++i) {
                if (steps_[i].joins) continue;
                if (!first) first = i;
                for (Write& write : steps_[i].writes)
                    for (Term& term : write.terms)
                        if (term.word.reg == kZero && values_[term.word.value].parts == std::vector{static_cast<uint32_t>(i)})
                            term.word.value = values_.id_of(part_value(static_cast<uint32_t>(*first)));
            }
        }
    }

    // Those that go_on takes. A function that a block calls returns behind it, wherever else it may go.
    std::vector<Way> ways() {
        std::vector<Way> ways;
        for (size_t b = 0; b < graph_->blocks.size(); ++b) {
            if (!reached_[b]) continue;
            const Block& block = graph_->blocks[b];
            for (const size_t to : block.next) ways.push_back({b, to, false});
            for (const auto& to : {block.forgetting, block.behind_call})
                if (to) ways.push_back({b, *to, true});
            if (!block.waits_by && !block.returns_by) continue;
            State state = states_[b];
            ++round_;
            for (const size_t i : active_[b]) apply(steps_[i], &state);
            if (block.waits_by)
                for (const size_t to : places_in(*block.waits_by, state).value_or(graph_->meetings)) ways.push_back({b, to, false});
            if (block.returns_by)
                for (const size_t to : places_in(*block.returns_by, state).value_or(graph_->returns))
                    if (!call_before_[to] || before_call_.count(*call_before_[to]) == 0) ways.push_back({b, to, true});
        }
        return ways;
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
        call_before_.resize(count);
        for (size_t b = 0; b < count; ++b)
            if (const Block& block = graph_->blocks[b]; block.calls && block.behind_call) call_before_[*block.behind_call] = b;
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
            for (const size_t to : open_) come_back(to, returned_);
            if (work_.empty()) return;
        }
    }

    void go_on(size_t b) {
        const Block& block = graph_->blocks[b];
        State state = states_[b];
        ++round_;
        for (const size_t i : active_[b]) apply(steps_[i], &state);
        for (const size_t to : block.next) reach(to, state);
        if (block.calls && block.behind_call) {
            State& before = before_call_[b] = state;
            if (const auto returned = returned_to_.find(*block.behind_call); returned != returned_to_.end())
                reach(*block.behind_call, around_call(*block.calls, before, returned->second));
        }
        if (block.forgetting) reach(*block.forgetting, behind_call(block, state));
        if (block.waits_by) {
            if (const auto seen = places_in(*block.waits_by, state))
                for (const size_t to : *seen) reach(to, state);
            else
                for (const size_t to : graph_->meetings) reach(to, state);
        }
        if (!block.returns_by) return;
        has_returned_ = true;
        join(state, &returned_);
        for (const size_t to : open_) come_back(to, returned_);
        if (const auto seen = places_in(*block.returns_by, state)) {
            for (const size_t to : *seen) come_back(to, state);
            return;
        }
        join(state, &unseen_returns_);
        for (const size_t to : graph_->returns) come_back(to, unseen_returns_);
    }

    // A return leads behind a call. What the function that was called does not write is as it was there, whatever other calls of it hold.
    void come_back(size_t to, const State& returned) {
        const auto call = call_before_[to];
        const auto before = call ? before_call_.find(*call) : before_call_.end();
        if (before == before_call_.end()) return reach(to, returned);
        const auto [all, is_new] = returned_to_.try_emplace(to, returned);
        if (!is_new) join(returned, &all->second);
        reach(to, around_call(*graph_->blocks[*call].calls, before->second, all->second));
    }

    State around_call(size_t function, const State& before, State returned) {
        const std::vector<bool>& written = written_by(function);
        for (size_t r = 0; r < kept_; ++r)
            if (!written[r]) returned[r] = before[r];
        return returned;
    }

    // The kept registers that a function of the code's own may write, and what it calls; by its first block.
    const std::vector<bool>& written_by(size_t function) {
        const auto [known, is_new] = written_by_.try_emplace(function, kept_, false);
        std::vector<bool>& written = known->second;
        if (!is_new) return written;
        std::set<size_t> seen{function};
        std::vector<size_t> open{function};
        while (!open.empty()) {
            const size_t b = open.back();
            const Block& block = graph_->blocks[b];
            open.pop_back();
            for (const size_t i : active_[b]) {
                if (steps_[i].all_unknown) written.assign(kept_, true);
                for (const Write& write : steps_[i].writes) written[write.reg] = true;
            }
            if (block.forgetting)
                for (const size_t r : results_of(block)) written[r] = true;
            std::vector<size_t> next = block.next;
            for (const auto& other : {block.forgetting, block.behind_call, block.others_meet})
                if (other) next.push_back(*other);
            for (const size_t to : next)
                if (seen.insert(to).second) open.push_back(to);
        }
        return written;
    }

    // What a call of another function leaves. By convention results are in R4 to R15 or in memory. Any other register is as it was, or the
    // code does not read it before it has written it again. Without one, as division has none that is a function of its own, they can be
    // anywhere.
    std::vector<size_t> results_of(const Block& call) const {
        std::vector<size_t> results;
        for (size_t reg = 0; reg < kRegisters; ++reg)
            if (index_[reg] != kRegisters && (!call.by_convention || (reg >= 4 && reg < 16) || reg >= kStack))
                results.push_back(index_[reg]);
        return results;
    }
    State behind_call(const Block& call, State state) const {
        for (const size_t r : results_of(call)) state[r] = kUnknown;
        return state;
    }

    // The blocks that a register names; none if it may hold something else.
    std::optional<std::vector<size_t>> places_in(size_t reg, const State& state) const {
        const Value& value = values_[reg < kRegisters ? state[index_[reg]] : kUnknown];
        if (value.places.empty() || value.unknown || !value.parts.empty() || !value.added.empty() || !value.used.empty())
            return std::nullopt;
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

    Id used_as(Id id, Use use, const Times& times) {
        switch (use) {
            case Use::moved:
                return id;
            case Use::added:
                return values_.as_added(id);
            case Use::mixed:
                return values_.as_mixed(id);
            case Use::used:
                return values_.as_factor(id, times);
            default:
                return values_.as_index(id, times);
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
            bool counts = false;
            const auto value_of = [&](const Term& term) {
                return term.word.reg == kZero ? term.word.value : read(*state, term.word.reg, step.guard);
            };
            for (size_t i = 0; i < write.terms.size(); ++i) {
                const Term& term = write.terms[i];
                const Id one = value_of(term);
                // What is smaller than an index is one, however large the other factor.
                if (write.smaller && i < 2 && !values_[one].index && values_[value_of(write.terms[1 - i])].index) continue;
                const Times times = term.by_other ? values_.times(value_of(write.terms[1 - i])) : term.times;
                const Id used = used_as(one, term.use, times);
                if (write.counts && values_[one].single) counts = true;
                result = write.one_of ? values_.join(result, used) : values_.sum(result, used);
            }
            if (counts) result = values_.as_single(result);
            // Five times a number is that number and four times it.
            for (size_t i = 1; i < write.terms.size() && !write.counts; ++i)
                for (size_t j = 0; j < i; ++j)
                    if (const size_t reg = write.terms[i].word.reg; reg != kZero && reg == write.terms[j].word.reg)
                        result = values_.as_multiple(result);
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
    Reads reads_;
    std::optional<Graph> graph_;
    std::vector<Step> steps_;
    std::vector<size_t> index_;  // of a register in a state
    size_t kept_ = 0;
    std::vector<std::vector<size_t>> active_;  // by block: instructions that change something
    std::vector<State> states_;                // at the begin of each block
    std::vector<bool> reached_;
    std::set<size_t> work_;  // blocks, the first one first: most of what reaches a block comes from above
    bool has_returned_ = false;
    State returned_;                                  // what all returns leave
    State unseen_returns_;                            // of those that can go anywhere
    std::set<size_t> open_;                           // blocks behind calls to which no return was seen to lead
    std::vector<std::optional<size_t>> call_before_;  // by block: the block with the call of a function of the code's own that it is behind
    std::unordered_map<size_t, State> before_call_;   // by that
    std::unordered_map<size_t, State> returned_to_;   // by the block behind it
    std::unordered_map<size_t, std::vector<bool>> written_by_;
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

bool names_map(const SassLine& line) { return begins_with(line.name, "UTMA"); }

// `map`: of a tensor map, which is to lie among the parameters; what counts is what these point to.
// Where the upper half has parts from memory, it is unknown for these alone, and they are not looked at here.
Roots roots_from(const Value& low, const Value& high, bool map) {
    Roots roots;
    // A number is added to the lower half.
    const bool is_any_part = !high.parts.empty() && high.parts.back() == kAnywhere;
    if (low.unknown || high.unknown || is_any_part || (high.any != Any::none && low.any == Any::none)) return roots;
    const auto holds = [](const std::vector<uint16_t>& words, uint32_t word) {
        return std::binary_search(words.begin(), words.end(), word);
    };
    std::vector<uint16_t> others = united(low.added, high.added);
    std::vector<Roots::Multiple> multiples;
    for (const Number& number : united(low.used, high.used)) {
        if (number.shift == kAnyTimes)
            others = united(others, {number.word});
        else
            multiples.push_back(
                {number.word, number.factor == kNoWord ? number.word : number.factor, number.factor != kNoWord, number.shift});
    }
    for (const uint16_t word : low.added)
        if (word % 2 == 0 && holds(high.added, word + 1u)) roots.pointers.push_back(word / 2);
    for (const uint16_t word : others)
        if (!holds(roots.pointers, word / 2u)) roots.numbers.push_back(word);
    for (const Roots::Multiple& one : multiples)
        if (!holds(roots.pointers, one.word / 2u) || (one.product && !holds(roots.pointers, one.factor / 2u)))
            roots.multiples.push_back(one);
    const auto of_area = [](const Roots::Multiple& one) { return one.word >= kAreaAddress || one.factor >= kAreaAddress; };
    if (high.any != Any::none) roots.any = low.any == Any::added || high.any == Any::added ? Roots::Any::added : Roots::Any::pointer;
    const bool has_pointer = !roots.pointers.empty() || roots.any != Roots::Any::none;
    const bool in_parameters =
        holds(others, kAreaAddress) || holds(others, kAreaAddress + 1) || std::any_of(multiples.begin(), multiples.end(), of_area);
    if (map) {
        // Its place among them is not followed.
        const bool is_there = roots.any == Roots::Any::none && roots.pointers == std::vector<uint16_t>{kAreaAddress / 2};
        roots = Roots();
        if (!is_there) return roots;
        roots.any = Roots::Any::map;
    } else if (in_parameters || !has_pointer) {
        return Roots();
    }
    roots.unknown = false;
    return roots;
}

// Whether words take part that a launch may leave unread.
bool has_terms(const Roots& roots) { return !roots.numbers.empty() || !roots.multiples.empty() || roots.pointers.size() > 1; }

// Where results are unknown, from instructions to places, or in all launches.
void set_places(const Listing& listing, const std::optional<ParameterArea>& area, Flow* flow, LaunchPaths* paths,
                std::vector<Roots>* results) {
    std::set<size_t> guarded;
    bool any = false;
    for (const Roots& roots : *results) {
        any |= !roots.unknown_at.empty() || has_terms(roots);
        for (const uint32_t i : roots.unknown_at)
            if (flow->is_guarded(i)) guarded.insert(i);
    }
    if (!any) return;
    // Kernels of NCCL get their work there, 4 KiB of it, anew at each launch: to look at it each time would take longer than it saves.
    constexpr uint32_t kMostBytes = 4095;
    if (area->bytes > kMostBytes) paths = nullptr;
    std::vector<size_t> places;
    std::vector<bool> always;
    if (paths) {
        places = flow->lay(listing, area, {guarded.begin(), guarded.end()}, paths);
        always = paths->always_reached();
    }
    for (Roots& roots : *results) {
        std::set<uint32_t> at;
        for (const uint32_t i : roots.unknown_at) {
            const auto one = guarded.find(i);
            at.insert(static_cast<uint32_t>(!paths                 ? 0
                                            : one == guarded.end() ? flow->block_of(i)
                                                                   : places[static_cast<size_t>(std::distance(guarded.begin(), one))]));
        }
        const bool ever = !paths || std::any_of(at.begin(), at.end(), [&](uint32_t place) { return always[place]; });
        if (!at.empty() && ever)
            roots = Roots();
        else
            roots.unknown_at.assign(at.begin(), at.end());
    }
    const bool decide = std::any_of(results->begin(), results->end(), [](const Roots& roots) { return !roots.unknown_at.empty(); });
    if (paths && !decide && !paths->may_leave_unread()) *paths = LaunchPaths();
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

std::vector<Roots> roots_of(const Listing& listing, const std::optional<ParameterArea>& area, const std::vector<AddressOperand>& addresses,
                            LaunchPaths* paths) {
    const std::vector<std::optional<SassLine>>& lines = listing.lines;
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
    Flow flow(listing, area, registers);
    flow.visit([&](size_t instruction, const State& state) {
        const auto found = wanted.find(instruction);
        if (found == wanted.end()) return;
        const auto half = [&](const std::vector<size_t>& of) {
            Id sum = kScalar;
            for (const size_t reg : of) sum = flow.values().sum(sum, flow.value(state, instruction, reg));
            return sum;
        };
        for (const size_t i : found->second) {
            const Value& high = flow.values()[half(parsed[i]->high)];
            results[i] = roots_from(flow.values()[half(parsed[i]->low)], high, names_map(*lines[instruction]));
            // By instructions for now.
            if (results[i].unknown)
                results[i].unknown_at = {static_cast<uint32_t>(instruction)};
            else
                results[i].unknown_at = high.parts;
        }
    });
    set_places(listing, area, &flow, paths, &results);
    return results;
}

}  // namespace snoopie
