// Files and descriptors, read and written whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace snoopie {

// A file descriptor, closed at the end of its life.
class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    const int fd_;
};

// The bytes of a file as they lie in memory, which nobody changes meanwhile. None where they cannot be had.
class MappedFile {
  public:
    MappedFile() = default;
    explicit MappedFile(int fd);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    MappedFile& operator=(MappedFile&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    std::string_view bytes() const { return bytes_; }

  private:
    std::string_view bytes_;
};

// The bytes from the beginning; none if they cannot be read.
std::optional<std::string> read_whole(int fd);
// Of a regular file; none if it is not one, or has more than `most` bytes.
std::optional<std::string> read_file(const std::string& path, size_t most = SIZE_MAX);
bool write_whole(int fd, std::string_view bytes);

}  // namespace snoopie
