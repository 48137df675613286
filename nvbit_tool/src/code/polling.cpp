#include "code/polling.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "code/sass_operands.h"
#include "code/sass_words.h"

namespace snoopie {

namespace {

using namespace following;

// A loop that waits is short. NCCL's, with their looks at abort flags, have less than a hundred instructions.
constexpr size_t kMostBlocks = 48;
constexpr size_t kMostInstructions = 512;

// --- Control flow ---

struct PollBlock {
    size_t begin = 0;
    size_t end = 0;
    std::vector<size_t> next;
    std::vector<size_t> before;
    bool leaves = false;  // the function, at its end, under some condition or none
};

class PollGraph {
  public:
    explicit PollGraph(const Listing& listing) {
        const auto& lines = listing.lines;
        std::unordered_map<uint32_t, size_t> at;
        for (size_t i = 0; i < lines.size(); ++i) at.emplace(listing.offsets[i], i);
        // As listing.begins, which is empty where an indirect branch can go anywhere: here that is no reason to give up.
        std::vector<bool> begins(lines.size(), false);
        begins[0] = true;
        for (size_t i = 0; i < lines.size(); ++i) {
            if (listing.effects[i].ends_block && i + 1 < lines.size()) begins[i + 1] = true;
            for (const uint32_t target : listing.effects[i].targets)
                if (const auto found = at.find(target); found != at.end()) begins[found->second] = true;
        }
        block_of_.resize(lines.size());
        for (size_t i = 0; i < lines.size(); ++i) {
            if (begins[i]) blocks_.push_back({i, i, {}, {}, false});
            blocks_.back().end = i + 1;
            block_of_[i] = blocks_.size() - 1;
        }
        std::map<std::string_view, std::vector<size_t>> meetings;  // by barrier
        for (size_t i = 0; i < lines.size(); ++i) {
            if (!lines[i] || lines[i]->name != "BSSY" || lines[i]->operands.empty()) continue;
            for (const uint32_t target : listing.effects[i].targets)
                if (const auto found = at.find(target); found != at.end()) meetings[lines[i]->operands[0]].push_back(found->second);
        }
        for (size_t b = 0; b < blocks_.size(); ++b) connect(b, listing, at, meetings);
        const std::vector<bool> reached = reached_blocks();
        for (size_t b = 0; b < blocks_.size(); ++b)
            if (reached[b])
                for (const size_t to : blocks_[b].next) blocks_[to].before.push_back(b);
    }

    const std::vector<PollBlock>& blocks() const { return blocks_; }
    size_t block_of(size_t instruction) const { return block_of_[instruction]; }

  private:
    // From the start of the function, and from wherever an indirect branch may lead.
    std::vector<bool> reached_blocks() const {
        std::vector<bool> has_before(blocks_.size(), false);
        for (const PollBlock& block : blocks_)
            for (const size_t to : block.next) has_before[to] = true;
        std::vector<bool> reached(blocks_.size(), false);
        std::vector<size_t> open;
        for (size_t b = 0; b < blocks_.size(); ++b)
            if (b == 0 || (!has_before[b] && aside_.count(b) == 0)) open.push_back(b);
        while (!open.empty()) {
            const size_t b = open.back();
            open.pop_back();
            if (reached[b]) continue;
            reached[b] = true;
            open.insert(open.end(), blocks_[b].next.begin(), blocks_[b].next.end());
        }
        return reached;
    }

    void connect(size_t b, const Listing& listing, const std::unordered_map<uint32_t, size_t>& at,
                 const std::map<std::string_view, std::vector<size_t>>& meetings) {
        PollBlock& block = blocks_[b];
        const size_t last = block.end - 1;
        const auto go = [&](size_t to) {
            if (to >= block_of_.size()) {
                block.leaves = true;
                return;
            }
            const size_t target = block_of_[to];
            if (std::find(block.next.begin(), block.next.end(), target) == block.next.end()) block.next.push_back(target);
        };
        const std::optional<SassLine>& line = listing.lines[last];
        if (!line) return go(block.end);
        const std::string_view name = line->name;
        const bool always = line->guard == SassLine::kAlways && !line->guard_negated;
        if (name == "BSYNC") {
            // Nearly always directly behind it.
            const auto places = line->operands.empty() ? meetings.end() : meetings.find(line->operands[0]);
            const bool behind =
                places == meetings.end() || std::find(places->second.begin(), places->second.end(), block.end) != places->second.end();
            if (behind || !always) go(block.end);
            if (!behind)
                for (const size_t to : places->second) go(to);
            return;
        }
        // Where the lanes of a vote came apart, code that stands elsewhere brings them together and comes back.
        if (name == "BRA" && has(line->modifiers, "DIV")) {
            for (const uint32_t target : listing.effects[last].targets)
                if (const auto found = at.find(target); found != at.end()) aside_.insert(block_of_[found->second]);
            return go(block.end);
        }
        const bool branch = name == "BRA" || name == "JMP";
        if (branch)
            for (const uint32_t target : listing.effects[last].targets)
                if (const auto found = at.find(target); found != at.end()) go(found->second);
        const bool indirect = name.substr(0, 3) == "BRX" || name.substr(0, 3) == "JMX";
        const bool leaves = indirect || name == "EXIT" || name == "KILL" || name == "RET" || name == "BPT";
        block.leaves |= leaves;
        // "BRA P1, 0x10" has a condition of its own.
        const bool conditional = !always || (branch && (line->operands.size() > 1 || !line->modifiers.empty()));
        if ((!branch && !leaves) || conditional) go(block.end);
    }

    std::vector<PollBlock> blocks_;
    std::vector<size_t> block_of_;
    std::set<size_t> aside_;  // blocks where that code begins
};

// --- Registers of instructions ---

// General registers, then uniform ones, then predicates and uniform predicates.
constexpr size_t kPredicates = 512;
constexpr size_t kUniformPredicates = 520;

std::optional<size_t> predicate_of(std::string_view text) {
    if (begins_with(text, "!")) text.remove_prefix(1);
    const bool uniform = begins_with(text, "U");
    if (uniform) text.remove_prefix(1);
    if (text.size() != 2 || text[0] != 'P' || text[1] < '0' || text[1] > '6') return std::nullopt;
    return (uniform ? kUniformPredicates : kPredicates) + static_cast<size_t>(text[1] - '0');
}

// Each register that the text names, with those that a pair or four of them take as well.
template <class Visit>
void each_register(std::string_view text, Visit visit) {
    const auto part_of_name = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_'; };
    for (size_t i = 0; i < text.size();) {
        size_t end = i;
        while (end < text.size() && part_of_name(text[end])) ++end;
        if (end == i) {
            ++i;
            continue;
        }
        const std::string_view word = text.substr(i, end - i);
        if (const auto reg = register_of(word); reg && *reg != kZero) {
            visit(*reg);
            if (begins_with(text.substr(end), ".64")) visit(*reg + 1);
        } else if (const auto predicate = predicate_of(word)) {
            visit(*predicate);
        }
        i = end;
    }
}

// What the instruction leaves in registers, and where the operands that are its results end.
struct Results {
    std::set<size_t> registers;
    size_t operands = 0;
};

bool has_no_results(const SassLine& line) {
    static constexpr std::array<std::string_view, 24> kNone = {"BRA",  "BSSY",  "BSYNC", "CCTL", "CCTLL",  "CGAERRBAR", "DEPBAR", "ERRBAR",
                                                               "EXIT", "FENCE", "JMP",   "KILL", "MEMBAR", "NANOSLEEP", "NOP",    "RED",
                                                               "REDG", "ST",    "STG",   "STL",  "STS",    "WARPSYNC",  "YIELD",  "BREAK"};
    return one_of(line.name, kNone);
}

Results results_of(const SassLine& line, const SassEffect& effect) {
    Results results;
    for (size_t r = 0; r < effect.registers.size(); ++r)
        if (effect.registers[r]) results.registers.insert(r);
    if (has_no_results(line)) return results;
    // Of several GPUs at once, into one register or more.
    if (line.name == "LDGMC" && !line.operands.empty())
        if (const auto reg = register_of(line.operands[0]); reg && *reg < kUniform - 1)
            for (size_t k = 0; k < (is_wide(line.modifiers) ? has(line.modifiers, "128") ? 4 : 2 : 1); ++k)
                results.registers.insert(std::min(*reg + k, kUniform - 1));
    const auto ends_with = [&](std::string_view end) {
        return line.name.size() >= end.size() && line.name.substr(line.name.size() - end.size()) == end;
    };
    const auto take_predicates = [&](size_t most) {
        for (size_t n = 0; n < most && results.operands < line.operands.size(); ++n, ++results.operands) {
            const std::string_view operand = line.operands[results.operands];
            if (!is_predicate(operand) || begins_with(operand, "!")) return;
            if (const auto predicate = predicate_of(operand)) results.registers.insert(*predicate);
        }
    };
    if (line.name == "R2P")
        for (size_t p = 0; p < 7; ++p) results.registers.insert(kPredicates + p);
    // Results stand first: two predicates, or one at most, a register, and predicates that an addition carries into.
    if (ends_with("SETP") || ends_with("SETP2") || ends_with("PLOP3")) {
        take_predicates(2);
        return results;
    }
    take_predicates(1);
    const auto reg = results.operands < line.operands.size() ? register_of(line.operands[results.operands]) : std::nullopt;
    if (!reg) return results;
    const size_t uniform = has(line.modifiers, "256") ? 8 : has(line.modifiers, "128") ? 4 : is_wide(line.modifiers) ? 2 : 1;
    for (size_t k = 0; *reg != kZero && *reg >= kUniform && k < uniform; ++k) results.registers.insert(*reg + k);
    const bool first = results.operands++ == 0;
    if (first && line.name != "P2R") take_predicates(begins_with(line.name, "VOTE") ? 1 : 2);
    return results;
}

bool is_guarded(const SassLine& line) { return line.guard != SassLine::kAlways || line.guard_negated || line.guard_uniform; }

std::optional<size_t> guard_of(const SassLine& line) {
    if (line.guard == SassLine::kAlways) return std::nullopt;
    return (line.guard_uniform ? kUniformPredicates : kPredicates) + static_cast<size_t>(line.guard);
}

// Of a source; 64 bits and more take the registers that follow.
template <class Visit>
void each_source(const SassLine& line, const Results& results, Visit visit) {
    const bool wide = is_wide(line.modifiers) || begins_with(line.name, "D") || has(line.modifiers, "CAS");
    for (size_t i = results.operands; i < line.operands.size(); ++i)
        each_register(line.operands[i], [&](size_t reg) {
            visit(reg);
            if (wide && reg < kPredicates) visit(reg + 1);
        });
}

// --- What instructions are ---

bool is_load(const SassLine& line) {
    return (line.name == "LDG" || line.name == "LD" || line.name == "LDGMC") &&
           (has(line.modifiers, "STRONG") || has(line.modifiers, "MMIO"));
}

bool is_atomic(const SassLine& line) { return line.name == "ATOM" || line.name == "ATOMG"; }

// An atomic that leaves the word as it is, or that changes it only when the wait is over.
bool only_asks(const SassLine& line) {
    if (has(line.modifiers, "CAS") || has(line.modifiers, "EXCH")) return true;
    return !line.operands.empty() && line.operands.back() == "RZ";
}

// What others could see, or what waits in another way.
bool is_seen(const SassLine& line) {
    static constexpr std::array<std::string_view, 10> kSeen = {"ST", "STG", "STAS", "STSM", "RED", "REDG", "REDS", "REDAS", "ATOMS", "BAR"};
    static constexpr std::array<std::string_view, 9> kElsewhere = {"CALL",  "RET",    "LDGSTS", "SYNCS", "SUST",
                                                                   "SURED", "SUATOM", "USTGR",  "UREDGR"};
    return one_of(line.name, kSeen) || one_of(line.name, kElsewhere) || begins_with(line.name, "UBLK") || begins_with(line.name, "UTMA");
}

// Of equal sources it makes equal results.
bool is_pure(const SassLine& line) {
    static constexpr std::array<std::string_view, 26> kPure = {
        "HFMA2", "IADD", "IADD3",  "IMAD",  "LDC",  "LDCU", "LEA",   "LOP3", "MOV",   "MOV32I", "PRMT", "R2UR",  "SEL",
        "SGXT",  "SHF",  "UIADD3", "UIMAD", "ULDC", "ULEA", "ULOP3", "UMOV", "UPRMT", "USEL",   "USHF", "VIADD", "IABS"};
    return one_of(line.name, kPure);
}

// Without the bracket and a zero behind it: of a load, and of one of several GPUs at once beside it, the same.
std::optional<std::string_view> address_of(const SassLine& line) {
    constexpr std::string_view kAndZero = "+URZ";
    for (const std::string_view operand : line.operands) {
        if (operand.empty() || operand.back() != ']' || begins_with(operand, "c[") || begins_with(operand, "cx[")) continue;
        std::string_view address = operand.substr(operand.rfind('[') + 1);
        address.remove_suffix(1);
        if (address.size() > kAndZero.size() && address.substr(address.size() - kAndZero.size()) == kAndZero)
            address.remove_suffix(kAndZero.size());
        return address;
    }
    return std::nullopt;
}

// --- Loops ---

class PollLoop {
  public:
    // The blocks from which `latch` is reached without `header`. Not a loop if that is possible from the function's start.
    static std::optional<PollLoop> find(const Listing& listing, const PollGraph& graph, size_t latch, size_t header) {
        PollLoop loop(listing, graph, latch, header);
        std::vector<size_t> open{latch};
        loop.inside_ = {header, latch};
        if (latch == header) open.clear();
        while (!open.empty()) {
            const size_t b = open.back();
            open.pop_back();
            if (b == 0) return std::nullopt;
            for (const size_t from : graph.blocks()[b].before)
                if (loop.inside_.insert(from).second) open.push_back(from);
            if (loop.inside_.size() > kMostBlocks) return std::nullopt;
        }
        for (const size_t b : loop.inside_) loop.instructions_ += graph.blocks()[b].end - graph.blocks()[b].begin;
        if (loop.instructions_ > kMostInstructions) return std::nullopt;
        return loop;
    }

    size_t size() const { return instructions_; }

    std::optional<Poll> poll() {
        bool loads = false;
        for (const size_t b : inside_) {
            for (size_t i = graph_->blocks()[b].begin; i < graph_->blocks()[b].end; ++i) {
                const std::optional<SassLine>& line = listing_->lines[i];
                // A vote that leaves a predicate alone, and loads of several GPUs at once, count as unknown elsewhere.
                const bool known = line && (!listing_->effects[i].unknown || line->name == "VOTE" || line->name == "LDGMC");
                if (!known || is_seen(*line)) return std::nullopt;
                if (is_atomic(*line) && !only_asks(*line)) return std::nullopt;
                // NCCL notes there that it was told to end; each time around it would be work.
                if (line->name == "STS" && is_each_time(b)) return std::nullopt;
                loads |= is_load(*line) || is_atomic(*line);
            }
        }
        if (!loads) return std::nullopt;
        for (const size_t b : inside_)
            for (size_t i = graph_->blocks()[b].begin; i < graph_->blocks()[b].end; ++i) {
                results_.emplace(i, results_of(*listing_->lines[i], listing_->effects[i]));
                written_.insert(results_.at(i).registers.begin(), results_.at(i).registers.end());
            }
        if (tries_each_time()) return std::nullopt;
        // Exits by the address that decides them.
        std::map<std::string, Poll> polls;
        for (const size_t b : inside_) {
            const auto exit = exit_of(b);
            if (!exit) continue;
            std::set<std::string> addresses;
            for (const size_t load : loads_behind(exit->instruction)) {
                if (!is_same_each_time(load)) continue;
                const std::string address = name_of_address(load);
                addresses.insert(address);
                std::vector<size_t>& list = polls[address].loads;
                if (std::find(list.begin(), list.end(), load) == list.end()) list.push_back(load);
            }
            for (const std::string& address : addresses) polls[address].exits.push_back(*exit);
        }
        // Of several addresses the one that is looked at each time around: others are looked at now and then, as flags that end the wait
        // early.
        Poll* best = nullptr;
        for (auto& [address, poll] : polls) {
            std::sort(poll.loads.begin(), poll.loads.end());
            const auto rank = [&](const Poll& one) {
                return std::make_pair(!is_each_time(graph_->block_of(one.loads.front())), one.loads.front());
            };
            if (!best || rank(poll) < rank(*best)) best = &poll;
        }
        if (!best) return std::nullopt;
        best->begin = graph_->blocks()[*inside_.begin()].begin;
        best->end = graph_->blocks()[*inside_.rbegin()].end;
        return *best;
    }

  private:
    PollLoop(const Listing& listing, const PollGraph& graph, size_t latch, size_t header)
        : listing_(&listing), graph_(&graph), latch_(latch), header_(header) {}

    bool inside(size_t block) const { return inside_.count(block) > 0; }

    // The last instruction of a block, if some lanes can leave the loop there and others stay.
    std::optional<Poll::Exit> exit_of(size_t b) const {
        const PollBlock& block = graph_->blocks()[b];
        const SassLine& line = *listing_->lines[block.end - 1];
        if (line.name != "BRA" && line.name != "EXIT" && line.name != "JMP") return std::nullopt;
        const bool follows = block.end < listing_->lines.size() && inside(graph_->block_of(block.end));
        const bool stays = std::any_of(block.next.begin(), block.next.end(), [&](size_t to) { return inside(to); });
        const bool leaves = block.leaves || !std::all_of(block.next.begin(), block.next.end(), [&](size_t to) { return inside(to); });
        if (!stays || !leaves) return std::nullopt;
        return Poll::Exit{block.end - 1, !follows};
    }

    // Whether each time around it tries to exchange a word for another: that of a loop that waits only if it is told to go on.
    bool tries_each_time() const {
        for (const size_t b : inside_)
            for (size_t i = graph_->blocks()[b].begin; i < graph_->blocks()[b].end; ++i) {
                const SassLine& line = *listing_->lines[i];
                const bool changes = is_atomic(line) && (has(line.modifiers, "CAS") || has(line.modifiers, "EXCH"));
                if (changes && !is_guarded(line) && !is_same_each_time(i) && is_each_time(b)) return true;
            }
        return false;
    }

    // Whether each way round passes the block.
    bool is_each_time(size_t block) const {
        if (block == header_ || block == latch_) return true;
        std::set<size_t> seen{header_};
        std::vector<size_t> open{header_};
        while (!open.empty()) {
            const size_t b = open.back();
            open.pop_back();
            for (const size_t to : graph_->blocks()[b].next) {
                if (to == block || !inside(to)) continue;
                if (to == latch_) return false;
                if (seen.insert(to).second) open.push_back(to);
            }
        }
        return true;
    }

    // The loads of the loop that what the branch decides by is made of.
    std::set<size_t> loads_behind(size_t branch) const {
        std::set<size_t> loads;
        std::set<std::pair<size_t, size_t>> seen;  // register, block at whose end it is looked for
        const SassLine& line = *listing_->lines[branch];
        std::vector<std::pair<size_t, size_t>> open;  // register, instruction before which it is looked for
        if (const auto guard = guard_of(line)) open.emplace_back(*guard, branch);
        for (const std::string_view operand : line.operands)
            if (const auto predicate = predicate_of(operand)) open.emplace_back(*predicate, branch);
        while (!open.empty()) {
            const auto [reg, before] = open.back();
            open.pop_back();
            const PollBlock& block = graph_->blocks()[graph_->block_of(before)];
            if (!look_up(reg, block.begin, before, &open, &loads)) follow_back(reg, graph_->block_of(before), &seen, &open, &loads);
        }
        return loads;
    }

    // Looks for what wrote the register between two places of a block. Whether it was found for sure.
    bool look_up(size_t reg, size_t begin, size_t end, std::vector<std::pair<size_t, size_t>>* open, std::set<size_t>* loads) const {
        for (size_t i = end; i-- > begin;) {
            const Results& results = results_.at(i);
            if (results.registers.count(reg) == 0) continue;
            const SassLine& line = *listing_->lines[i];
            if (is_load(line) || is_atomic(line)) {
                loads->insert(i);
            } else if (!begins_with(line.name, "LD")) {
                each_source(line, results, [&](size_t source) { open->emplace_back(source, i); });
                if (const auto guard = guard_of(line)) open->emplace_back(*guard, i);
            }
            if (!is_guarded(line)) return true;
        }
        return false;
    }

    void follow_back(size_t reg, size_t block, std::set<std::pair<size_t, size_t>>* seen, std::vector<std::pair<size_t, size_t>>* open,
                     std::set<size_t>* loads) const {
        std::vector<size_t> blocks{block};
        while (!blocks.empty()) {
            const size_t b = blocks.back();
            blocks.pop_back();
            for (const size_t from : graph_->blocks()[b].before) {
                if (!inside(from) || !seen->emplace(reg, from).second) continue;
                const PollBlock& one = graph_->blocks()[from];
                if (!look_up(reg, one.begin, one.end, open, loads)) blocks.push_back(from);
            }
        }
    }

    // Whether address and, of an atomic, its other operands are the same each time around.
    bool is_same_each_time(size_t load) const {
        const SassLine& line = *listing_->lines[load];
        const auto address = address_of(line);
        if (!address) return false;
        bool same = true;
        each_register(*address, [&](size_t reg) { same = same && is_same(reg, load, 0); });
        // [R2] of an atomic is a pair as well.
        if (const auto reg = register_of(address->substr(0, address->find_first_of(".+"))); reg && *reg != kZero)
            same = same && is_same(*reg + 1, load, 0);
        if (!is_atomic(line)) return same;
        const bool wide = is_wide(line.modifiers);
        for (size_t i = results_.at(load).operands; i < line.operands.size(); ++i) {
            if (line.operands[i].find('[') != std::string_view::npos) continue;
            each_register(line.operands[i],
                          [&](size_t reg) { same = same && is_same(reg, load, 0) && (!wide || is_same(reg + 1, load, 0)); });
        }
        return same;
    }

    // Before the instruction `at`: what it holds is made, since control came from elsewhere, of what the loop does not change.
    bool is_same(size_t reg, size_t at, int depth) const {
        constexpr int kDepth = 8;
        if (written_.count(reg) == 0) return true;
        if (depth == kDepth) return false;
        const std::optional<size_t> i = written_at(reg, at);
        if (!i || is_guarded(*listing_->lines[*i]) || !is_pure(*listing_->lines[*i])) return false;
        bool same = true;
        each_source(*listing_->lines[*i], results_.at(*i), [&](size_t source) { same = same && is_same(source, *i, depth + 1); });
        return same;
    }

    // The instruction of this time around that has written it before `at`; none if control may have come by several ways.
    std::optional<size_t> written_at(size_t reg, size_t at) const {
        for (size_t b = graph_->block_of(at), end = at;;) {
            const PollBlock& block = graph_->blocks()[b];
            for (size_t i = end; i-- > block.begin;)
                if (results_.at(i).registers.count(reg) > 0) return i;
            if (b == header_ || block.before.size() != 1) return std::nullopt;
            b = block.before.front();
            end = graph_->blocks()[b].end;
        }
    }

    // As it stands there, with what has made its registers in the loop: one register can be for two words, one after the other.
    std::string name_of_address(size_t load) const {
        std::string name(*address_of(*listing_->lines[load]));
        std::set<size_t> registers;
        each_register(name, [&](size_t reg) { registers.insert(reg); });
        for (const size_t reg : registers) {
            const std::optional<size_t> i = written_.count(reg) > 0 ? written_at(reg, load) : std::nullopt;
            if (!i) continue;
            const SassLine& line = *listing_->lines[*i];
            name.append(" ").append(line.name).append(line.modifiers);
            for (const std::string_view operand : line.operands) name.append(",").append(operand);
        }
        return name;
    }

    const Listing* listing_;
    const PollGraph* graph_;
    size_t latch_;
    size_t header_;
    std::set<size_t> inside_;
    size_t instructions_ = 0;
    std::map<size_t, Results> results_;
    std::set<size_t> written_;
};

}  // namespace

std::optional<BranchPredicate> branch_predicate(const SassLine& line) {
    for (const std::string_view operand : line.operands)
        if (const auto predicate = predicate_of(operand)) {
            const bool uniform = *predicate >= kUniformPredicates;
            return BranchPredicate{static_cast<int>(*predicate - (uniform ? kUniformPredicates : kPredicates)), uniform,
                                   begins_with(operand, "!")};
        }
    return std::nullopt;
}

std::vector<Poll> find_polls(const Listing& listing) {
    const auto waits = [&](const std::optional<SassLine>& line) { return line && (is_load(*line) || is_atomic(*line)); };
    if (std::none_of(listing.lines.begin(), listing.lines.end(), waits)) return {};
    const PollGraph graph(listing);
    std::vector<PollLoop> loops;
    for (size_t b = 0; b < graph.blocks().size(); ++b)
        for (const size_t to : graph.blocks()[b].next)
            if (to <= b)
                if (auto loop = PollLoop::find(listing, graph, b, to)) loops.push_back(std::move(*loop));
    // The larger first: a wait that two loops share is that of the outer one.
    std::stable_sort(loops.begin(), loops.end(), [](const PollLoop& a, const PollLoop& b) { return a.size() > b.size(); });
    std::vector<Poll> polls;
    std::set<size_t> taken;
    for (PollLoop& loop : loops) {
        auto poll = loop.poll();
        if (!poll || std::any_of(poll->loads.begin(), poll->loads.end(), [&](size_t load) { return taken.count(load) > 0; })) continue;
        taken.insert(poll->loads.begin(), poll->loads.end());
        polls.push_back(std::move(*poll));
    }
    std::sort(polls.begin(), polls.end(), [](const Poll& a, const Poll& b) { return a.loads.front() < b.loads.front(); });
    return polls;
}

}  // namespace snoopie
