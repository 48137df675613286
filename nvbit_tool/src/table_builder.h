// The rows of one table that are not written yet, kept as columns, and their encoding as a block's content.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "schema.h"

namespace snoopie {

class TableBuilder {
  public:
    explicit TableBuilder(const TableSchema& table) : sorted_(is_sorted(table.id)), columns_(table.columns.size()) {}

    // False where the row needs a block of its own: a column of differences would not hold it beside the others.
    template <class Row>
    bool fits(const Row& row) const {
        bool fit = true;
        for_each_column(row, [&](size_t column, const auto& value) { fit &= columns_[column].fits(value); });
        return fit;
    }

    template <class Row>
    void append(const Row& row) {
        for_each_column(row, [this](size_t column, const auto& value) { raw_size_ += columns_[column].append(value); });
        ++rows_;
    }

    uint32_t rows() const { return rows_; }
    // Size of the block's content.
    size_t raw_size() const { return raw_size_; }

    // The block's content: column after column.
    std::string encode() {
        if (sorted_) sort();
        std::string content;
        content.reserve(raw_size_);
        for (const Values& column : columns_) column.encode(&content);
        return content;
    }

  private:
    struct Values {
        std::string fixed;        // the values, or for a utf8 column the lengths
        std::string text;         // for a utf8 column the bytes
        std::vector<u8> numbers;  // for a column of differences the values
        u8 lowest = ~u8{0};
        u8 highest = 0;
        size_t stored = 0;  // bytes of a difference

        template <class T>
        size_t append(const T& value) {
            static_assert(std::is_trivially_copyable_v<T>);
            fixed.append(reinterpret_cast<const char*>(&value), sizeof value);
            return sizeof value;
        }
        size_t append(const utf8& value) {
            text += value;
            return append(static_cast<u4>(value.size())) + value.size();
        }
        template <size_t Bytes>
        size_t append(const Delta<Bytes>& number) {
            const size_t before = numbers.empty() ? sizeof lowest : 0;
            stored = Bytes;
            lowest = std::min(lowest, number.value);
            highest = std::max(highest, number.value);
            numbers.push_back(number.value);
            return before + Bytes;
        }
        size_t append(const delta8x32& row) {
            size_t size = 0;
            for (const delta8& number : row) size += append(number);
            return size;
        }

        template <class T>
        bool fits(const T&) const {
            return true;
        }
        bool fits(const delta4& number) const {
            return numbers.empty() || std::max(highest, number.value) - std::min(lowest, number.value) <= ~u4{0};
        }

        u8 key(size_t row, size_t rows) const {
            if (!numbers.empty()) return numbers[row];
            u8 value = 0;
            std::memcpy(&value, &fixed[row * (fixed.size() / rows)], fixed.size() / rows);
            return value;
        }

        void permute(const std::vector<u4>& order) {
            if (!numbers.empty()) {
                std::vector<u8> moved;
                moved.reserve(numbers.size());
                for (const u4 row : order) moved.push_back(numbers[row]);
                numbers = std::move(moved);
                return;
            }
            const size_t width = fixed.size() / order.size();
            std::string moved;
            moved.reserve(fixed.size());
            for (const u4 row : order) moved.append(fixed, row * width, width);
            fixed = std::move(moved);
        }

        void encode(std::string* content) const {
            *content += fixed;
            *content += text;
            if (stored == sizeof(u4)) encode_differences<u4>(content);
            if (stored == sizeof(u8)) encode_differences<u8>(content);
        }

        // The lowest value, then the differences from row to row, beginning there: the low bytes of all, then the next higher, …
        // A difference's sign is in its lowest bit, so that small ones have high bytes of 0, which compress to nothing.
        template <class T>
        void encode_differences(std::string* content) const {
            content->append(reinterpret_cast<const char*>(&lowest), sizeof lowest);
            const size_t start = content->size();
            content->resize(start + numbers.size() * sizeof(T));
            char* bytes = &(*content)[start];
            T before = static_cast<T>(lowest);
            for (const u8 number : numbers) {
                const T difference = static_cast<T>(static_cast<T>(number) - before);
                const T negative = static_cast<T>(0) - (difference >> (8 * sizeof(T) - 1));
                const T folded = static_cast<T>(difference << 1) ^ negative;
                for (size_t byte = 0; byte < sizeof(T); ++byte) bytes[byte * numbers.size()] = static_cast<char>(folded >> 8 * byte);
                ++bytes;
                before = static_cast<T>(number);
            }
        }
    };

    void sort() {
        struct Key {
            u8 second;
            u4 first;
            u4 row;
        };
        std::vector<Key> keys;
        keys.reserve(rows_);
        for (u4 row = 0; row < rows_; ++row)
            keys.push_back({columns_[1].key(row, rows_), static_cast<u4>(columns_[0].key(row, rows_)), row});
        std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
            if (a.first != b.first) return a.first < b.first;
            return a.second != b.second ? a.second < b.second : a.row < b.row;
        });
        std::vector<u4> order;
        order.reserve(rows_);
        for (const Key& key : keys) order.push_back(key.row);
        for (Values& column : columns_) column.permute(order);
    }

    bool sorted_;
    std::vector<Values> columns_;
    size_t raw_size_ = 0;
    uint32_t rows_ = 0;
};

}  // namespace snoopie
