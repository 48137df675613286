#include "launches/live_calls.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

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

// Whether this many elements on from a pointer, of any usual size, something foreign begins.
bool leads_out(const std::vector<uint64_t>& pointers, int64_t elements, const WhereIs& where) {
    for (const uint64_t pointer : pointers)
        for (const int64_t size : {1, 2, 4, 8, 16})
            if (where(pointer + static_cast<uint64_t>(elements) * static_cast<uint64_t>(size)) == Where::foreign) return true;
    return false;
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

bool may_leave(const Roots& address, const std::string& parameters, const WhereIs& where) {
    if (address.unknown) return true;
    std::vector<uint64_t> pointers;
    std::vector<int64_t> numbers;
    for (const uint16_t word : address.pointers) {
        const auto value = read<uint64_t>(parameters, word);
        if (!value) return true;
        const auto number = static_cast<int64_t>(*value);
        // A null pointer leads nowhere by itself: where a kernel has no neighbour to write to, for instance.
        if (number == 0)
            pointers.push_back(0);
        else if (-kLowestAddress < number && number < kLowestAddress)
            numbers.push_back(number);
        else if (where(*value) == Where::own && !is_before_foreign(*value, where))
            pointers.push_back(*value);
        else
            return true;
    }
    if (pointers.empty()) return true;
    for (size_t i = 0; i < address.numbers.size(); ++i) {
        const uint16_t half = address.numbers[i];
        const auto value = read<uint32_t>(parameters, half);
        if (!value) return true;
        const auto word = read<uint64_t>(parameters, half / 2u);
        const Where there = word ? where(*word) : Where::nowhere;
        if (there == Where::foreign) return true;
        if (there == Where::own) continue;  // a part of a pointer that stays here
        numbers.push_back(static_cast<int32_t>(*value));
        numbers.push_back(*value);
        const bool whole = half % 2 == 0 && i + 1 < address.numbers.size() && address.numbers[i + 1] == half + 1;
        if (whole && word) numbers.push_back(static_cast<int64_t>(*word));
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return std::any_of(numbers.begin(), numbers.end(), [&](int64_t number) { return leads_out(pointers, number, where); });
}

}  // namespace snoopie
