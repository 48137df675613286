#include "code/common_guard.h"

#include <array>
#include <string_view>

#include "code/sass_operands.h"
#include "code/sass_words.h"

namespace snoopie {

namespace {

using namespace following;

// The first two operands of these are results, the others sources.
constexpr std::array<std::string_view, 2> kPredicateResults{"ISETP", "PLOP3"};
// The first operand of these is the result, all others are sources; a carry that goes out counts as a source.
constexpr std::array<std::string_view, 9> kRegisterResults{"IADD3", "IMAD", "LDC", "LEA", "LOP3", "MOV", "SEL", "SHF", "VIADD"};
// Chains are short; a long one is not worth its time.
constexpr int kDepth = 32;

class Block {
  public:
    explicit Block(const Listing& listing) : listing_(listing) {}

    // Before the instruction `at`.
    bool common_predicate(int predicate, size_t at, int depth) const {
        if (predicate == SassLine::kAlways) return true;
        while (!listing_.begins[at]) {
            const SassEffect& effect = listing_.effects[--at];
            if (effect.unknown || !listing_.lines[at]) return false;
            if (!(effect.predicates >> predicate & 1)) continue;
            const SassLine& line = *listing_.lines[at];
            if (!one_of(line.name, kPredicateResults)) return false;
            if (names(line.operands, 0, predicate) || names(line.operands, 1, predicate)) return made_of_common(line, 2, at, depth);
        }
        return false;
    }

  private:
    static bool names(const std::vector<std::string_view>& operands, size_t place, int predicate) {
        return place < operands.size() && operands[place].size() == 2 && operands[place][0] == 'P' && operands[place][1] == '0' + predicate;
    }

    bool common_register(size_t reg, size_t at, int depth) const {
        while (!listing_.begins[at]) {
            const SassEffect& effect = listing_.effects[--at];
            if (effect.unknown || !listing_.lines[at]) return false;
            if (!effect.registers[reg]) continue;
            const SassLine& line = *listing_.lines[at];
            if (line.name == "S2R") return unguarded(line) && line.operands.size() == 2 && is_of_block(line.operands[1]);
            return one_of(line.name, kRegisterResults) && made_of_common(line, 1, at, depth);
        }
        return false;
    }

    static bool unguarded(const SassLine& line) { return line.guard == SassLine::kAlways && !line.guard_negated && !line.guard_uniform; }

    static bool is_of_block(std::string_view special) {
        return begins_with(special, "SR_CTAID.") || begins_with(special, "SR_NCTAID.") || begins_with(special, "SR_NTID.");
    }

    bool made_of_common(const SassLine& line, size_t first_source, size_t at, int depth) const {
        if (depth == kDepth || !unguarded(line)) return false;
        for (size_t i = first_source; i < line.operands.size(); ++i)
            if (!common_source(bare(line.operands[i]), at, depth + 1)) return false;
        return true;
    }

    bool common_source(std::string_view source, size_t at, int depth) const {
        if (immediate(source)) return true;
        if (const auto constant = constant_of(source)) return !constant->indexed;
        if (const auto reg = register_of(source)) return *reg >= kUniform || common_register(*reg, at, depth);
        if (!is_predicate(source)) return false;
        if (source.front() == 'U' || source == "PT") return true;
        return source.size() == 2 && source[1] != 'R' && common_predicate(source[1] - '0', at, depth);
    }

    const Listing& listing_;
};

}  // namespace

bool has_common_guard(const Listing& listing, size_t at) {
    const std::optional<SassLine>& line = listing.lines[at];
    if (listing.begins.empty() || !line || line->guard_uniform || line->guard == SassLine::kAlways) return false;
    return Block(listing).common_predicate(line->guard, at, 0);
}

}  // namespace snoopie
