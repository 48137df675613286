// The rows of one table that are not written yet, kept as columns.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "schema.h"

namespace snoopie {

class TableBuilder {
  public:
    explicit TableBuilder(size_t columns) : columns_(columns) {}

    template <class Row>
    void append(const Row& row) {
        for_each_column(row, [this](size_t column, const auto& value) { columns_[column].append(value); });
        ++rows_;
    }

    uint32_t rows() const { return rows_; }

    size_t raw_size() const {
        size_t size = 0;
        for (const Values& column : columns_) size += column.fixed.size() + column.text.size();
        return size;
    }

    // The block's content: column after column. The builder is empty afterwards.
    std::string take() {
        std::string content;
        content.reserve(raw_size());
        for (Values& column : columns_) {
            content += column.fixed;
            content += column.text;
            column = {};
        }
        rows_ = 0;
        return content;
    }

  private:
    struct Values {
        std::string fixed;  // the values, or for a utf8 column the lengths
        std::string text;   // for a utf8 column the bytes

        template <class T>
        void append(const T& value) {
            static_assert(std::is_trivially_copyable_v<T>);
            fixed.append(reinterpret_cast<const char*>(&value), sizeof value);
        }
        void append(const utf8& value) {
            append(static_cast<u4>(value.size()));
            text += value;
        }
    };

    std::vector<Values> columns_;
    uint32_t rows_ = 0;
};

}  // namespace snoopie
