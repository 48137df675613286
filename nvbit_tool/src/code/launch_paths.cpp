#include "code/launch_paths.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace snoopie {

namespace {

bool holds(LaunchPaths::Compare how, bool less, bool equal) {
    switch (how) {
        case LaunchPaths::Compare::equal:
            return equal;
        case LaunchPaths::Compare::not_equal:
            return !equal;
        case LaunchPaths::Compare::less:
            return less;
        case LaunchPaths::Compare::less_equal:
            return less || equal;
        case LaunchPaths::Compare::greater:
            return !less && !equal;
        default:
            return !less;
    }
}

bool is_less(uint32_t a, uint32_t b, bool with_sign) { return with_sign ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b; }

}  // namespace

LaunchPaths::Term LaunchPaths::term(const Node& node) {
    const auto [known, is_new] = terms_.try_emplace(node, static_cast<Term>(nodes_.size()));
    if (is_new) nodes_.push_back(node);
    return known->second;
}

LaunchPaths::Term LaunchPaths::number(uint32_t value) { return term({Kind::number, 0, false, value, 0, 0}); }

LaunchPaths::Term LaunchPaths::parameter(uint32_t offset, uint32_t bytes, bool with_sign) {
    return term({Kind::parameter, static_cast<uint8_t>(bytes), with_sign, offset, 0, 0});
}

LaunchPaths::Term LaunchPaths::sum(Term a, Term b) {
    return a == kNotKnown || b == kNotKnown ? kNotKnown : term({Kind::sum, 0, false, a, b, 0});
}

LaunchPaths::Term LaunchPaths::masked(Term a, Term b) {
    return a == kNotKnown || b == kNotKnown ? kNotKnown : term({Kind::masked, 0, false, a, b, 0});
}

LaunchPaths::Term LaunchPaths::smaller(bool with_sign, Term a, Term b) {
    return a == kNotKnown || b == kNotKnown ? kNotKnown : term({Kind::smaller, 0, with_sign, a, b, 0});
}

LaunchPaths::Term LaunchPaths::larger(bool with_sign, Term a, Term b) {
    return a == kNotKnown || b == kNotKnown ? kNotKnown : term({Kind::larger, 0, with_sign, a, b, 0});
}

LaunchPaths::Term LaunchPaths::compared(Compare how, bool with_sign, Term a, Term b, std::optional<Term> lower) {
    if (a == kNotKnown || b == kNotKnown) return kNotKnown;
    return term({lower ? Kind::compared_upper : Kind::compared, static_cast<uint8_t>(how), with_sign, a, b, lower.value_or(kNotKnown)});
}

LaunchPaths::Term LaunchPaths::looked_up(uint8_t table, Term a, Term b, Term c) {
    if (a == kNotKnown && b == kNotKnown && c == kNotKnown) return kNotKnown;
    return term({Kind::looked_up, table, false, a, b, c});
}

size_t LaunchPaths::add_place() {
    ways_.emplace_back();
    return ways_.size() - 1;
}

void LaunchPaths::lead(size_t from, size_t to, Term condition, bool wanted) { ways_[from].push_back({to, condition, wanted}); }

void LaunchPaths::read_at(size_t place, uint16_t word) { read_at_[word].insert(place); }

std::optional<uint32_t> LaunchPaths::value(const Node& node, const Values& values, const std::string& parameters) const {
    const std::optional<uint32_t> a = node.kind > Kind::parameter ? values[node.a] : std::nullopt;
    const std::optional<uint32_t> b = node.kind > Kind::parameter ? values[node.b] : std::nullopt;
    switch (node.kind) {
        case Kind::not_known:
            return std::nullopt;
        case Kind::number:
            return node.a;
        case Kind::parameter: {
            if (node.a + node.how > parameters.size()) return std::nullopt;
            uint32_t read = 0;
            std::memcpy(&read, parameters.data() + node.a, node.how);
            const uint32_t above = node.how < 4 ? ~uint32_t{0} << 8 * node.how : 0;
            return node.with_sign && (read >> (8 * node.how - 1) & 1) ? read | above : read;
        }
        case Kind::sum:
            return a && b ? std::optional(*a + *b) : std::nullopt;
        case Kind::masked:
            return a && b ? std::optional(*a & *b) : std::nullopt;
        case Kind::smaller:
            return a && b ? std::optional(is_less(*a, *b, node.with_sign) ? *a : *b) : std::nullopt;
        case Kind::larger:
            return a && b ? std::optional(is_less(*a, *b, node.with_sign) ? *b : *a) : std::nullopt;
        case Kind::compared:
        case Kind::compared_upper: {
            if (!a || !b) return std::nullopt;
            if (node.kind == Kind::compared_upper && *a == *b) return values[node.c];
            return holds(static_cast<Compare>(node.how), is_less(*a, *b, node.with_sign), *a == *b);
        }
        case Kind::looked_up: {
            // Known where all that the others can be gives the same.
            const std::optional<uint32_t> c = values[node.c];
            std::optional<uint32_t> result;
            for (uint32_t row = 0; row < 8; ++row) {
                const auto can_be = [&](const std::optional<uint32_t>& one, uint32_t bit) { return !one || *one == (row >> bit & 1); };
                if (!can_be(a, 2) || !can_be(b, 1) || !can_be(c, 0)) continue;
                const uint32_t here = node.how >> row & 1;
                if (result && *result != here) return std::nullopt;
                result = here;
            }
            return result;
        }
    }
    return std::nullopt;
}

template <class Open>
std::vector<bool> LaunchPaths::reached_by(Open is_open) const {
    std::vector<bool> reached(ways_.size(), false);
    std::vector<size_t> open;
    if (!ways_.empty()) open.push_back(0);
    while (!open.empty()) {
        const size_t at = open.back();
        open.pop_back();
        if (reached[at]) continue;
        reached[at] = true;
        for (const Way& way : ways_[at])
            if (!reached[way.to] && is_open(way)) open.push_back(way.to);
    }
    return reached;
}

std::vector<bool> LaunchPaths::always_reached() const {
    return reached_by([](const Way& way) { return way.condition == kNotKnown; });
}

std::vector<bool> LaunchPaths::reached(const std::string& parameters) const {
    Values values;
    values.reserve(nodes_.size());
    for (const Node& node : nodes_) values.push_back(value(node, values, parameters));
    return reached_by([&](const Way& way) { return !values[way.condition] || *values[way.condition] == (way.wanted ? 1u : 0u); });
}

std::vector<uint16_t> LaunchPaths::unread(const std::vector<bool>& reached) const {
    std::vector<uint16_t> words;
    for (const auto& [word, places] : read_at_)
        if (std::none_of(places.begin(), places.end(), [&](size_t place) { return reached[place]; })) words.push_back(word);
    return words;
}

bool LaunchPaths::may_leave_unread() const { return !unread(always_reached()).empty(); }

std::vector<uint16_t> LaunchPaths::words() const {
    std::vector<bool> used(nodes_.size(), false);
    for (const std::vector<Way>& ways : ways_)
        for (const Way& way : ways) used[way.condition] = true;
    std::set<uint16_t> words;
    for (size_t i = nodes_.size(); i-- > 0;) {
        const Node& node = nodes_[i];
        if (!used[i]) continue;
        if (node.kind > Kind::parameter) used[node.a] = used[node.b] = used[node.c] = true;
        if (node.kind != Kind::parameter) continue;
        words.insert(static_cast<uint16_t>(node.a / 8));
        words.insert(static_cast<uint16_t>((node.a + node.how - 1) / 8));
    }
    return std::vector<uint16_t>(words.begin(), words.end());
}

}  // namespace snoopie
