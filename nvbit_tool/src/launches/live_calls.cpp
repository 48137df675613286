#include "launches/live_calls.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "probe/tensor_map.h"

namespace snoopie {

namespace {

// No allocation lies below: what is less is a number.
constexpr int64_t kLowestAddress = int64_t{1} << 32;

template <class Word>
std::optional<Word> read(const std::string& bytes, size_t index) {
    Word word;
    if ((index + 1) * sizeof word > bytes.size()) return std::nullopt;
    std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
    return word;
}

// A pointer so little before foreign memory may be meant for it: programs pass pointers that lie before an array, and instructions add what
// the compiler knows. Behind foreign memory it is not: allocations lie side by side, and nearly every pointer is the start of one.
constexpr uint64_t kBorder = 64 << 10;

bool is_before_foreign(uint64_t pointer, const WhereIs& where) {
    return where(pointer + kBorder / 16) == Where::foreign || where(pointer + kBorder) == Where::foreign;
}

// Where a word leads as a pointer.
enum class Leads { here, nowhere, out };

Leads leads(uint64_t pointer, const WhereIs& where) {
    const Where there = where(pointer);
    if (there == Where::foreign || is_before_foreign(pointer, where)) return Leads::out;
    return there == Where::own ? Leads::here : Leads::nowhere;
}

bool is_small(int64_t number) { return -kLowestAddress < number && number < kLowestAddress; }

// Whether rows of a tensor, or planes and so on, lie in other memory than its first element. What is no map hardly looks like one with
// rows.
bool leads_out(const TensorMap& map, const WhereIs& where) {
    uint64_t last = map.address;
    for (uint32_t k = 1; k < map.rank; ++k) {
        const uint64_t far = (map.size[k] - 1) * map.stride[k];
        last += far;
        if (where(map.address + far) == Where::foreign || where(last) == Where::foreign) return true;
    }
    return false;
}

// Which word is the address of the map is not known, so none may lead out.
bool map_may_leave(const std::string& parameters, const WhereIs& where) {
    bool has_pointer = false;
    for (size_t i = 0; const auto word = read<uint64_t>(parameters, i); ++i) {
        if (is_small(static_cast<int64_t>(*word))) continue;
        const Leads there = leads(*word, where);
        if (there == Leads::out) return true;
        if (there == Leads::nowhere) continue;
        has_pointer = true;
        uint64_t words[kTensorWords] = {};
        const size_t begin = i * sizeof *word;
        std::memcpy(words, parameters.data() + begin, std::min(sizeof words, parameters.size() - begin));
        if (leads_out(decode_tensor_map(words), where)) return true;
    }
    return !has_pointer;
}

// What takes part in an address.
struct Terms {
    bool has_pointer = false;        // that stays here, or is null
    std::vector<uint64_t> pointers;  // and what may be meant for one
    std::vector<int64_t> numbers;
    std::vector<int64_t> bytes;  // the same, where the size of what they count is known
};

// More are not looked at one by one.
constexpr size_t kMostPairs = 4096;

// Whether a number leads from a pointer into foreign memory: as so many bytes, or where it is not known what it counts, as elements of any
// usual size.
bool lead_out(Terms terms, const WhereIs& where) {
    const auto are_many = [&] { return terms.pointers.size() * (terms.numbers.size() + terms.bytes.size()) > kMostPairs; };
    const auto once = [](auto* list) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
    };
    if (are_many()) {
        once(&terms.pointers);
        once(&terms.numbers);
        once(&terms.bytes);
        if (are_many()) return true;
    }
    for (const uint64_t pointer : terms.pointers) {
        for (const int64_t far : terms.bytes)
            if (where(pointer + static_cast<uint64_t>(far)) == Where::foreign) return true;
        for (const int64_t elements : terms.numbers)
            for (const uint64_t size : {1, 2, 4, 8, 16})
                if (where(pointer + static_cast<uint64_t>(elements) * size) == Where::foreign) return true;
    }
    return false;
}

// What a word of 32 bits can be as a number: with a sign or without one, or the lower half of 64 bits if the upper one takes part, too.
struct Numbers {
    int64_t values[3];
    size_t count;
    const int64_t* begin() const { return values; }
    const int64_t* end() const { return values + count; }
};

Numbers numbers_of(const Roots& address, const std::string& parameters, uint16_t half, uint32_t value) {
    Numbers numbers{{static_cast<int32_t>(value), value}, 2};
    const auto is_upper = [&](const Roots::Multiple& one) { return one.word == half + 1 || one.factor == half + 1; };
    const bool whole = half % 2 == 0 && (std::any_of(address.multiples.begin(), address.multiples.end(), is_upper) ||
                                         std::binary_search(address.numbers.begin(), address.numbers.end(), half + 1));
    const auto word = read<int64_t>(parameters, half / 2u);
    if (whole && word) numbers.values[numbers.count++] = *word;
    return numbers;
}

constexpr uint64_t kLargeStep = 1 << 20;  // bytes

// False if one of the two words is part of a pointer to foreign memory, or is not there.
bool add_multiples(const Roots& address, const Roots::Multiple& multiple, const std::string& parameters, const WhereIs& where,
                   Terms* terms) {
    for (const uint16_t half : {multiple.word, multiple.factor}) {
        const auto word = read<uint64_t>(parameters, half / 2u);
        if (word && where(*word) == Where::foreign) return false;
    }
    const auto one = read<uint32_t>(parameters, multiple.word);
    const auto other = read<uint32_t>(parameters, multiple.factor);
    if (!one || !other) return false;
    const auto add = [&](int64_t number) {
        const auto far = static_cast<uint64_t>(number) << multiple.shift;
        // Kernels for small arrays count in 32 bits.
        for (const int64_t bytes : {static_cast<int64_t>(far), static_cast<int64_t>(static_cast<uint32_t>(far))})
            terms->bytes.push_back(bytes);
    };
    // An index steps through small distances one by one. Of large ones the first may lead into another allocation of this GPU.
    const auto add_steps = [&](int64_t number) {
        add(number);
        const uint64_t magnitude = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
        const bool is_large = magnitude >= kLargeStep >> std::min<uint32_t>(multiple.shift, 20);
        for (const int64_t steps : {2, 4, 8, 16})
            if (is_large) add(static_cast<int64_t>(static_cast<uint64_t>(number) * static_cast<uint64_t>(steps)));
    };
    for (const int64_t number : numbers_of(address, parameters, multiple.word, *one)) {
        if (!multiple.product) {
            add_steps(number);
            continue;
        }
        for (const int64_t factor : numbers_of(address, parameters, multiple.factor, *other))
            add(static_cast<int64_t>(static_cast<uint64_t>(number) * static_cast<uint64_t>(factor)));
    }
    return true;
}

// Any word can be the pointer. Those that are none may be anything, also what was never written: they are left out unless they are added
// to others. False if one leads out.
bool choose_any(const std::string& parameters, bool added, const WhereIs& where, Terms* terms) {
    for (size_t i = 0; const auto word = read<uint64_t>(parameters, i); ++i) {
        const auto number = static_cast<int64_t>(*word);
        const Leads there = is_small(number) ? Leads::nowhere : leads(*word, where);
        if (there == Leads::out) return false;
        terms->has_pointer |= there == Leads::here;
        if (there == Leads::here || number == 0 || !is_small(number)) terms->pointers.push_back(*word);
        if (added && there == Leads::nowhere && number != 0) terms->numbers.push_back(number);
    }
    return true;
}

// Of a launch, for all addresses whose pointer can be any of its words: none if one leads out.
class AnyTerms {
  public:
    AnyTerms(const std::string& parameters, const WhereIs& where) : parameters_(parameters), where_(where) {}

    const std::optional<Terms>& of(bool added) {
        std::optional<std::optional<Terms>>& known = known_[added];
        if (!known) {
            Terms terms;
            known.emplace(choose_any(parameters_, added, where_, &terms) ? std::optional(std::move(terms)) : std::nullopt);
        }
        return *known;
    }

  private:
    const std::string& parameters_;
    const WhereIs& where_;
    std::optional<std::optional<Terms>> known_[2];
};

// `unread`: the words that the launch does not read, by 4 bytes.
bool may_leave(const Roots& address, const std::string& parameters, const WhereIs& where, AnyTerms& any,
               const std::vector<uint16_t>& unread) {
    const auto is_unread = [&](uint32_t half) { return std::binary_search(unread.begin(), unread.end(), half); };
    if (address.any == Roots::Any::map) return map_may_leave(parameters, where);
    Terms terms;
    if (address.any != Roots::Any::none) {
        const std::optional<Terms>& all = any.of(address.any == Roots::Any::added);
        if (!all) return true;
        terms = *all;
    }
    for (const uint16_t word : address.pointers) {
        // As a null pointer: where the address is made of nothing else, the access does not run.
        const bool is_read = !is_unread(2u * word) || !is_unread(2u * word + 1);
        const auto value = is_read ? read<uint64_t>(parameters, word) : std::optional<uint64_t>(0);
        if (!value) return true;
        const auto number = static_cast<int64_t>(*value);
        if (number != 0 && is_small(number)) {
            terms.numbers.push_back(number);
            continue;
        }
        // A null pointer leads nowhere by itself: where a kernel has no neighbour to write to, for instance.
        if (number != 0 && leads(*value, where) != Leads::here) return true;
        terms.has_pointer = true;
        terms.pointers.push_back(*value);
    }
    if (!terms.has_pointer) return true;
    for (size_t i = 0; i < address.numbers.size(); ++i) {
        const uint16_t half = address.numbers[i];
        if (is_unread(half)) continue;
        const auto value = read<uint32_t>(parameters, half);
        if (!value) return true;
        const auto word = read<uint64_t>(parameters, half / 2u);
        const Where there = word ? where(*word) : Where::nowhere;
        if (there == Where::foreign) return true;
        if (there == Where::own) continue;  // a part of a pointer that stays here
        terms.numbers.push_back(static_cast<int32_t>(*value));
        terms.numbers.push_back(*value);
        const bool whole = half % 2 == 0 && i + 1 < address.numbers.size() && address.numbers[i + 1] == half + 1;
        if (whole && word) terms.numbers.push_back(static_cast<int64_t>(*word));
    }
    for (const Roots::Multiple& multiple : address.multiples)
        if (!is_unread(multiple.word) && !is_unread(multiple.factor) && !add_multiples(address, multiple, parameters, where, &terms))
            return true;
    return lead_out(std::move(terms), where);
}

}  // namespace

ParameterBuffer parameter_buffer(void* const* extra) {
    // CU_LAUNCH_PARAM_END, _BUFFER_POINTER and _BUFFER_SIZE.
    ParameterBuffer buffer;
    for (; extra && extra[0]; extra += 2) {
        if (reinterpret_cast<uintptr_t>(extra[0]) == 1) buffer.data = extra[1];
        if (reinterpret_cast<uintptr_t>(extra[0]) == 2 && extra[1]) buffer.bytes = *static_cast<const size_t*>(extra[1]);
    }
    return buffer;
}

std::optional<std::string> parameter_bytes(const KernelParameters& kernel, void* const* parameters, void* const* extra) {
    std::string bytes(kernel.area.bytes, '\0');
    if (parameters) {
        for (size_t i = 0; i < kernel.list.size(); ++i) {
            if (!parameters[i]) return std::nullopt;
            std::memcpy(bytes.data() + kernel.list[i].offset, parameters[i], kernel.list[i].bytes);
        }
        return bytes;
    }
    if (kernel.list.empty()) return bytes;
    const ParameterBuffer buffer = parameter_buffer(extra);
    if (!buffer.data || buffer.bytes < bytes.size()) return std::nullopt;
    std::memcpy(bytes.data(), buffer.data, bytes.size());
    return bytes;
}

std::vector<bool> may_leave(const std::vector<Roots>& addresses, const std::string& parameters, const WhereIs& where,
                            const LaunchPaths& paths) {
    AnyTerms any(parameters, where);
    const std::vector<bool> reached = paths.reached(parameters);
    const std::vector<uint16_t> unread = paths.unread(reached);
    const auto runs = [&](uint32_t place) { return place >= reached.size() || reached[place]; };
    std::vector<bool> leave;
    for (const Roots& address : addresses) {
        const std::vector<uint32_t>& unknown_at = address.unknown_at;
        if (address.unknown_always() || std::any_of(unknown_at.begin(), unknown_at.end(), runs))
            leave.push_back(true);
        else  // where it is unknown in all launches that run it, none does now
            leave.push_back(!address.unknown && may_leave(address, parameters, where, any, unread));
    }
    return leave;
}

}  // namespace snoopie
