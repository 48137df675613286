// Which of a kernel's code a launch reaches, as far as its parameters decide that.
//
// Libraries have one kernel for several ways to call it: whether a pointer is a parameter or lies in a list in memory, for instance, is
// said by a number among the parameters. The host knows that number at the launch, and so which branches are taken.
//
// What is not known leaves both ways open: more places than a launch reaches, never fewer.
//
// So it also knows which words of the parameters a launch can read. Programs fill arrays among them as far as they need them, the strides
// of as many dimensions as a tensor has, and leave in the rest whatever was there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace snoopie {

class LaunchPaths {
  public:
    // A number of 32 bits or a truth value, made from parameters.
    using Term = uint32_t;
    static constexpr Term kNotKnown = 0;
    enum class Compare : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

    Term number(uint32_t value);
    // `bytes` of the parameters, from `offset` on, widened.
    Term parameter(uint32_t offset, uint32_t bytes, bool with_sign);
    Term sum(Term a, Term b);
    Term masked(Term a, Term b);
    // The smaller or the larger of both.
    Term smaller(bool with_sign, Term a, Term b);
    Term larger(bool with_sign, Term a, Term b);
    // `lower`: of 64 bits, what the comparison of the lower halves said, which counts where the upper ones are equal.
    Term compared(Compare how, bool with_sign, Term a, Term b, std::optional<Term> lower = std::nullopt);
    // The bit of `table` that the truth of a, b and c has the number of: a counts four, b two, c one.
    Term looked_up(uint8_t table, Term a, Term b, Term c);

    // Places are numbered as they are added; the kernel begins at the first.
    size_t add_place();
    // Control can go there: only if `condition` is not known to be other than `wanted`.
    void lead(size_t from, size_t to, Term condition = kNotKnown, bool wanted = true);

    // An instruction there reads this 4-byte word. Of words that are not named so anywhere nothing is known.
    void read_at(size_t place, uint16_t word);

    bool empty() const { return ways_.empty(); }
    // By place. In all launches, whatever their parameters are.
    std::vector<bool> always_reached() const;
    // In one with these parameters.
    std::vector<bool> reached(const std::string& parameters) const;
    // The 4-byte words that a launch that reaches these places cannot have read, ascending.
    std::vector<uint16_t> unread(const std::vector<bool>& reached) const;
    // Whether any word can be left out so in any launch.
    bool may_leave_unread() const;
    // The 8-byte words of the parameters that the answer depends on, ascending.
    std::vector<uint16_t> words() const;

  private:
    enum class Kind : uint8_t { not_known, number, parameter, sum, masked, smaller, larger, compared, compared_upper, looked_up };
    struct Node {
        Kind kind = Kind::not_known;
        uint8_t how = 0;  // a Compare or a table; bytes of a parameter
        bool with_sign = false;
        uint32_t a = 0;  // terms; or a value, or an offset
        uint32_t b = 0;
        uint32_t c = 0;
        bool operator<(const Node& other) const { return all() < other.all(); }
        std::tuple<Kind, uint8_t, bool, uint32_t, uint32_t, uint32_t> all() const { return {kind, how, with_sign, a, b, c}; }
    };
    struct Way {
        size_t to = 0;
        Term condition = kNotKnown;
        bool wanted = true;
    };
    using Values = std::vector<std::optional<uint32_t>>;

    Term term(const Node& node);
    std::optional<uint32_t> value(const Node& node, const Values& values, const std::string& parameters) const;
    template <class Open>
    std::vector<bool> reached_by(Open is_open) const;

    std::vector<Node> nodes_{Node()};  // each behind those that it is made from
    std::map<Node, Term> terms_;
    std::vector<std::vector<Way>> ways_;            // by place
    std::map<uint16_t, std::set<size_t>> read_at_;  // places by word
};

}  // namespace snoopie
