// The rows of one table that are not written yet, kept as columns, and their encoding as a block's content.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "trace/row_order.h"
#include "trace/schema.h"

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
    std::string encode() const {
        const std::vector<u4> order = sorted_ ? sorted_rows() : std::vector<u4>();
        std::string content;
        content.reserve(raw_size_);
        for (const Values& column : columns_) column.encode(order, &content);
        return content;
    }

  private:
    struct Values {
        std::string bytes;        // the values, or for a utf8 column the lengths; with room for more
        size_t size = 0;          // bytes used
        size_t width = 0;         // bytes of a value, or of a difference
        std::string text;         // for a utf8 column the bytes
        std::vector<u8> numbers;  // for a column of differences the values
        u8 lowest = ~u8{0};
        u8 highest = 0;

        template <class T>
        size_t append(const T& value) {
            static_assert(std::is_trivially_copyable_v<T>);
            width = sizeof value;
            if (size + width > bytes.size()) bytes.resize(2 * bytes.size() + 64 * width);
            std::memcpy(&bytes[size], &value, sizeof value);
            size += width;
            return width;
        }
        size_t append(const utf8& value) {
            text += value;
            return append(static_cast<u4>(value.size())) + value.size();
        }
        template <size_t Bytes>
        size_t append(const Delta<Bytes>& number) {
            const size_t before = numbers.empty() ? sizeof lowest : 0;
            width = Bytes;
            lowest = std::min(lowest, number.value);
            highest = std::max(highest, number.value);
            numbers.push_back(number.value);
            return before + Bytes;
        }
        size_t append(const delta8x32& row) {
            size_t added = 0;
            for (const delta8& number : row) added += append(number);
            return added;
        }

        template <class T>
        bool fits(const T&) const {
            return true;
        }
        bool fits(const delta4& number) const {
            return numbers.empty() || std::max(highest, number.value) - std::min(lowest, number.value) <= ~u4{0};
        }

        // `order` says which row comes where; empty = as they are.
        void encode(const std::vector<u4>& order, std::string* content) const {
            if (!numbers.empty()) {
                width == sizeof(u4) ? encode_differences<u4>(order, content) : encode_differences<u8>(order, content);
            } else if (order.empty()) {
                content->append(bytes, 0, size).append(text);
            } else {
                const size_t start = content->size();
                content->resize(start + size);
                char* place = &(*content)[start];
                for (const u4 row : order) {
                    std::memcpy(place, &bytes[row * width], width);
                    place += width;
                }
            }
        }

        // The lowest value, then the differences from row to row, beginning there: the low bytes of all, then the next higher, …
        // A difference's sign is in its lowest bit, so that small ones have high bytes of 0, which compress to nothing.
        template <class T>
        void encode_differences(const std::vector<u4>& order, std::string* content) const {
            content->append(reinterpret_cast<const char*>(&lowest), sizeof lowest);
            const size_t start = content->size();
            content->resize(start + numbers.size() * sizeof(T));
            char* place = &(*content)[start];
            T before = static_cast<T>(lowest);
            for (size_t i = 0; i < numbers.size(); ++i, ++place) {
                const T number = static_cast<T>(numbers[order.empty() ? i : order[i]]);
                const T difference = number - before;
                const T negative = T{0} - (difference >> (8 * sizeof(T) - 1));
                const T folded = (difference << 1) ^ negative;
                for (size_t byte = 0; byte < sizeof(T); ++byte) place[byte * numbers.size()] = static_cast<char>(folded >> 8 * byte);
                before = number;
            }
        }
    };

    std::vector<u4> sorted_rows() const {
        std::vector<RowKey> keys(rows_);
        for (u4 row = 0; row < rows_; ++row) {
            keys[row] = {columns_[1].numbers[row], 0, row};
            std::memcpy(&keys[row].first, &columns_[0].bytes[row * sizeof(u4)], sizeof(u4));
        }
        return row_order(std::move(keys));
    }

    bool sorted_;
    std::vector<Values> columns_;
    size_t raw_size_ = 0;
    uint32_t rows_ = 0;
};

}  // namespace snoopie
