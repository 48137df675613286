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
// may not. `index`: a number of the run has a part in it, of a thread or from memory, so that it is no constant. `places`: instructions
// that it names.
enum class Any : uint8_t { none, chosen, added };

struct Value {
    bool unknown = false;
    bool index = false;
    Any any = Any::none;
    std::vector<uint32_t> parts;
    std::vector<uint16_t> added;
    std::vector<uint16_t> used;
    std::vector<uint32_t> places;
    auto all() const { return std::tie(unknown, index, any, parts, added, used, places); }
    bool operator<(const Value& other) const { return all() < other.all(); }
    bool is_no_word() const { return any == Any::none && added.empty(); }
};

// The two words of an address that is not among the parameters: that of the parameters themselves, which the driver tells every kernel.
constexpr uint16_t kAreaAddress = 0xfffe;

inline Value word_value(uint16_t word) {
    Value value;
    value.added.push_back(word);
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

// More words than this in one value, and nothing is known of it.
constexpr size_t kMostWords = 512;

template <class Number>
inline std::vector<Number> united(const std::vector<Number>& a, const std::vector<Number>& b) {
    std::vector<Number> both;
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
    }
    const Value& operator[](Id id) const { return *values_[id]; }

    Id id_of(Value value) {
        if (value.parts.size() > kMostParts || (value.parts.size() > 1 && value.parts.back() == kAnywhere)) value.parts = {kAnywhere};
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
            known = id_of({false, one.index || other.index, std::max(one.any, other.any), united(one.parts, other.parts),
                           united(one.added, other.added), united(one.used, other.used), united(one.places, other.places)});
        }
        return known;
    }
    // Both are added.
    Id sum(Id a, Id b) {
        const Id both = join(a, b);
        if (values_[both]->any != Any::chosen || values_[a]->is_no_word() || values_[b]->is_no_word()) return both;
        Value value = *values_[both];
        value.any = Any::added;
        return id_of(std::move(value));
    }
    // The same words, but not as a sum. One half of a pair that was chosen is then as if it were loaded from memory.
    Id as_used(Id id) {
        if (id == kScalar || id == kUnknown) return id;
        Id& known = used_[id];
        if (known == kScalar) {
            const Value& value = *values_[id];
            const std::vector<uint32_t> parts = value.any == Any::none ? value.parts : std::vector<uint32_t>{kAnywhere};
            known = id_of({false, value.index, Any::none, parts, {}, united(value.added, value.used), {}});
        }
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
        value.parts.clear();
        return id_of(std::move(value));
    }

  private:
    std::map<Value, Id> ids_;
    std::vector<const Value*> values_;
    std::unordered_map<uint64_t, Id> joins_;
    std::unordered_map<Id, Id> used_;
};

}  // namespace snoopie::following
