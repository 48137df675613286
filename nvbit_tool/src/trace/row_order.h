// The order of rows by two numbers: a stable radix sort, because every recorded access goes through it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace snoopie {

struct RowKey {
    uint64_t second;
    uint32_t first;
    uint32_t row;
};

// Sorts by the number that `number_of` takes from a key. Keys that are equal in it stay in their order.
template <class NumberOf>
void sort_stably(std::vector<RowKey>* keys, NumberOf number_of) {
    constexpr int kBits = 11;
    constexpr size_t kDigits = size_t{1} << kBits;
    uint64_t differing = 0;
    for (const RowKey& key : *keys) differing |= number_of(key) ^ number_of(keys->front());
    std::vector<RowKey> sorted(keys->size());
    // Bits in which all keys agree, the high ones and the low ones of addresses, need no pass.
    for (int shift = 0; shift < 64 && differing >> shift != 0; shift += kBits) {
        while (!(differing >> shift & 1)) ++shift;
        std::array<uint32_t, kDigits> places{};
        const auto digit = [&](const RowKey& key) { return number_of(key) >> shift & (kDigits - 1); };
        for (const RowKey& key : *keys) ++places[digit(key)];
        uint32_t before = 0;
        for (uint32_t& place : places) before += std::exchange(place, before);
        for (const RowKey& key : *keys) sorted[places[digit(key)]++] = key;
        keys->swap(sorted);
    }
}

// The rows in the order of their first number, then of the second, then as they are.
inline std::vector<uint32_t> row_order(std::vector<RowKey> keys) {
    sort_stably(&keys, [](const RowKey& key) { return key.second; });
    sort_stably(&keys, [](const RowKey& key) { return uint64_t{key.first}; });
    std::vector<uint32_t> order;
    order.reserve(keys.size());
    for (const RowKey& key : keys) order.push_back(key.row);
    return order;
}

}  // namespace snoopie
