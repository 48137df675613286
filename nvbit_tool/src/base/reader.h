// Binary data that is not trusted, read piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace snoopie {

// Reads from the front of `bytes`. Reading beyond the end yields zero or "" and makes ok() false for good.
class Reader {
  public:
    explicit Reader(std::string_view bytes, uint64_t start = 0) : bytes_(bytes) { skip(start); }

    // An integer or a struct of the file.
    template <class T>
    T read() {
        T value{};
        if (!has(sizeof value)) return value;
        std::memcpy(&value, bytes_.data() + position_, sizeof value);
        skip(sizeof value);
        return value;
    }
    // LEB128; bits beyond the 64th are dropped.
    uint64_t uleb() { return leb(false); }
    int64_t sleb() { return static_cast<int64_t>(leb(true)); }
    std::string_view text();  // up to the next zero byte, which is skipped
    Reader take(uint64_t size);
    void skip(uint64_t size) { position_ += has(size) ? size : 0; }

    bool ok() const { return ok_; }
    bool at_end() const { return left() == 0; }
    size_t left() const { return bytes_.size() - position_; }
    std::string_view rest() const { return bytes_.substr(position_); }
    size_t offset() const { return base_ + position_; }  // in the bytes of the Reader that this one was taken from

  private:
    bool has(uint64_t size);
    uint64_t leb(bool is_signed);

    std::string_view bytes_;
    size_t base_ = 0;
    size_t position_ = 0;
    bool ok_ = true;
};

}  // namespace snoopie
