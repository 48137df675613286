// What registers can hold while kernel parameters are followed; see roots.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace snoopie::following {

// What a register can hold, by the 4-byte words of the parameters. `added`: words that reach it by moves and sums alone; `used`: those that
// have a part in it otherwise. `any`: a pair that the code chooses is among them, by an index for instance, or several such are added, or
// one to another word. `parts`: it holds 32 bits from memory that is not followed, an index or one half of a pointer, loaded by one of
// these instructions, or kAnywhere. A pointer has both halves from there, so the lower half of an address may hold such bits, and the upper
// may not. `index`: a number of the run has a part in it, of a thread or from memory, so that it is no constant. `single`: such a number
// that counts by ones, as those of threads do, and not in multiples. `exact`: one word as it is. `places`: instructions that it names.
enum class Any : uint8_t { none, chosen, added };

constexpr uint16_t kNoWord = 0xffff;
constexpr uint8_t kAnyTimes = 0xff;
constexpr uint8_t kMostShift = 16;

// A word of the parameters, or the product of two, that has a part in a value as so many times 2^`shift`, as far as constants say; times an
// index, it is what one step of the index makes. A single word that comes in by other ways has kAnyTimes.
struct Number {
    uint16_t word = 0;
    uint16_t factor = kNoWord;
    uint8_t shift = kAnyTimes;
    auto all() const { return std::tie(word, factor, shift); }
    bool operator<(const Number& other) const { return all() < other.all(); }
    bool operator==(const Number& other) const { return all() == other.all(); }
};

// What a value is multiplied by: a power of two; one word of the parameters; an index that counts by ones; or anything else.
struct Times {
    enum class Kind : uint8_t { shift, word, single, any } kind = Kind::any;
    uint16_t number = 0;
};

struct Value {
    bool unknown = false;
    bool index = false;
    bool single = false;
    bool exact = false;
    Any any = Any::none;
    std::vector<uint32_t> parts;
    std::vector<uint16_t> added;
    std::vector<Number> used;
    std::vector<uint32_t> places;
    auto all() const { return std::tie(unknown, index, single, exact, any, parts, added, used, places); }
    bool operator<(const Value& other) const { return all() < other.all(); }
    bool is_no_word() const { return any == Any::none && added.empty(); }
};

// The two words of an address that is not among the parameters: that of the parameters themselves, which the driver tells every kernel.
constexpr uint16_t kAreaAddress = 0xfffe;

inline Value word_value(uint16_t word) {
    Value value;
    value.added.push_back(word);
    value.exact = true;
    return value;
}

inline Value any_pair_value() {
    Value value;
    value.any = Any::chosen;
    return value;
}

inline Value place_value(uint32_t place) {
    Value value;
    value.places.push_back(place);
    return value;
}

inline Value unknown_value() {
    Value value;
    value.unknown = true;
    return value;
}

inline Value index_value() {
    Value value;
    value.index = true;
    return value;
}

// Of a thread or a block.
inline Value single_value() {
    Value value = index_value();
    value.single = true;
    return value;
}

// Not known where from; or from more instructions than are told apart.
constexpr uint32_t kAnywhere = UINT32_MAX;
constexpr size_t kMostParts = 16;

inline Value part_value(uint32_t from) {
    Value value;
    value.parts.push_back(from);
    value.index = true;
    return value;
}

// A value in the table. Nothing but constants, indices of threads and numbers from memory: kScalar, which is also what a register holds
// that was never written.
using Id = uint32_t;
constexpr Id kScalar = 0;
constexpr Id kUnknown = 1;
constexpr Id kPart = 2;
constexpr Id kIndex = 3;
constexpr Id kSingle = 4;

// More words than this in one value, and nothing is known of it.
constexpr size_t kMostWords = 512;

template <class One>
inline std::vector<One> united(const std::vector<One>& a, const std::vector<One>& b) {
    std::vector<One> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

class Values {
  public:
    Values() {
        id_of({});
        id_of(unknown_value());
        id_of(part_value(kAnywhere));
        id_of(index_value());
        id_of(single_value());
    }
    const Value& operator[](Id id) const { return *values_[id]; }

    Id id_of(Value value) {
        if (value.parts.size() > kMostParts || (value.parts.size() > 1 && value.parts.back() == kAnywhere)) value.parts = {kAnywhere};
        if (value.unknown || value.added.size() + value.used.size() > kMostWords) value = unknown_value();
        const auto [entry, is_new] = ids_.try_emplace(std::move(value), static_cast<Id>(values_.size()));
        if (is_new) values_.push_back(&entry->first);
        return entry->second;
    }
    // It is one of both: a constant, for instance, so that it counts by ones only if both do.
    Id join(Id a, Id b) {
        if (a == b) return a;
        if (a == kScalar) return as_multiple(b);
        if (b == kScalar) return as_multiple(a);
        if (a == kUnknown || b == kUnknown) return kUnknown;
        Id& known = joins_[uint64_t{std::min(a, b)} << 32 | std::max(a, b)];
        if (known == kScalar) known = id_of(united_values(*values_[a], *values_[b]));
        return known;
    }
    // Both are added.
    Id sum(Id a, Id b) {
        if (a == kScalar) return b;
        if (b == kScalar) return a;
        if (a == kUnknown || b == kUnknown) return kUnknown;
        Id& known = sums_[uint64_t{std::min(a, b)} << 32 | std::max(a, b)];
        if (known == kScalar) {
            const Value &one = *values_[a], &other = *values_[b];
            Value value = united_values(one, other);
            value.single = one.single || other.single;
            value.exact = false;
            if (value.any == Any::chosen && !one.is_no_word() && !other.is_no_word()) value.any = Any::added;
            known = id_of(std::move(value));
        }
        return known;
    }
    // The same words, but not as a sum. One half of a pair that was chosen is then as if it were loaded from memory.
    Id as_used(Id id) {
        if (id == kScalar || id == kUnknown) return id;
        Id& known = used_[id];
        if (known == kScalar) {
            const Value& value = *values_[id];
            const std::vector<uint32_t> parts = value.any == Any::none ? value.parts : std::vector<uint32_t>{kAnywhere};
            known =
                id_of({false, value.index, false, false, Any::none, parts, {}, any_times(united(as_numbers(value.added), value.used)), {}});
        }
        return known;
    }
    // The same for a factor.
    Id as_factor(Id id, const Times& times) {
        if (id == kScalar || id == kUnknown || times.kind == Times::Kind::any) return as_used(id);
        Value result = *values_[as_used(id)];
        const Value& value = *values_[id];
        std::vector<Number> numbers = value.used;
        for (const uint16_t word : value.added) numbers.push_back({word, kNoWord, 0});
        for (Number& number : numbers) {
            if (number.shift == kAnyTimes || times.kind == Times::Kind::single) continue;
            if (times.kind == Times::Kind::shift && number.shift + times.number <= kMostShift) {
                number.shift = static_cast<uint8_t>(number.shift + times.number);
            } else if (times.kind == Times::Kind::word && number.factor == kNoWord) {
                number.factor = std::max(number.word, times.number);
                number.word = std::min(number.word, times.number);
            } else {
                return as_used(id);
            }
        }
        std::sort(numbers.begin(), numbers.end());
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
        result.used = std::move(numbers);
        return id_of(std::move(result));
    }
    // What another factor is to a value that is multiplied by this.
    Times times(Id id) const {
        const Value& value = *values_[id];
        if (value.unknown || value.any != Any::none || !value.parts.empty() || !value.places.empty()) return {};
        if (value.single) return {Times::Kind::single, 0};
        if (value.exact) return {Times::Kind::word, value.added.front()};
        return {};
    }
    // It may also be a constant.
    Id as_multiple(Id id) {
        if (!values_[id]->single && !values_[id]->exact) return id;
        Value value = *values_[id];
        value.single = false;
        value.exact = false;
        return id_of(std::move(value));
    }
    // It counts by ones.
    Id as_single(Id id) {
        if (id == kUnknown || values_[id]->single) return id;
        Value value = *values_[id];
        value.single = value.index = true;
        return id_of(std::move(value));
    }
    // What bits are taken from or moved about in.
    Id as_mixed(Id id) {
        if (id == kScalar || id == kUnknown) return id;
        Value value = *values_[id];
        value.single = false;
        value.exact = false;
        value.places.clear();
        value.used = any_times(value.used);
        return id_of(std::move(value));
    }
    // A sum names no place and is no word.
    Id as_added(Id id) {
        if (values_[id]->places.empty() && !values_[id]->exact) return id;
        Value value = *values_[id];
        value.places.clear();
        value.exact = false;
        return id_of(std::move(value));
    }
    // Widened to 64 bits: no half of a pointer.
    Id as_index(Id id, const Times& times = {}) {
        if (id == kUnknown) return id;
        Value value = *values_[as_factor(id, times)];
        value.parts.clear();
        return id_of(std::move(value));
    }

  private:
    static Value united_values(const Value& one, const Value& other) {
        return {false,
                one.index || other.index,
                one.single && other.single,
                one.exact && other.exact && one.added == other.added,
                std::max(one.any, other.any),
                united(one.parts, other.parts),
                united(one.added, other.added),
                united(one.used, other.used),
                united(one.places, other.places)};
    }
    static std::vector<Number> as_numbers(const std::vector<uint16_t>& words) {
        std::vector<Number> numbers;
        for (const uint16_t word : words) numbers.push_back({word});
        return numbers;
    }
    // Each word of a product by itself.
    static std::vector<Number> any_times(const std::vector<Number>& numbers) {
        std::vector<uint16_t> words;
        for (const Number& number : numbers) {
            words.push_back(number.word);
            if (number.factor != kNoWord) words.push_back(number.factor);
        }
        std::sort(words.begin(), words.end());
        words.erase(std::unique(words.begin(), words.end()), words.end());
        return as_numbers(words);
    }

    std::map<Value, Id> ids_;
    std::vector<const Value*> values_;
    std::unordered_map<uint64_t, Id> joins_;
    std::unordered_map<uint64_t, Id> sums_;
    std::unordered_map<Id, Id> used_;
};

}  // namespace snoopie::following
