#include "base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace snoopie {

Descriptor::~Descriptor() {
    if (fd_ >= 0) close(fd_);
}

MappedFile::MappedFile(int fd) {
    struct stat info;
    if (fstat(fd, &info) != 0 || info.st_size <= 0) return;
    const auto bytes = static_cast<size_t>(info.st_size);
    void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (mapped != MAP_FAILED) bytes_ = {static_cast<const char*>(mapped), bytes};
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

std::optional<std::string> read_whole(int fd) {
    struct stat info;
    if (fstat(fd, &info) != 0) return std::nullopt;
    std::string bytes(static_cast<size_t>(info.st_size), '\0');
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t got = pread(fd, &bytes[done], bytes.size() - done, static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return std::nullopt;
        done += static_cast<size_t>(got);
    }
    return bytes;
}

std::optional<std::string> read_file(const std::string& path, size_t most) {
    // The name may be a pipe's, whose writer is not to be waited for, or a terminal's.
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat info;
    if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || static_cast<size_t>(info.st_size) > most) return std::nullopt;
    return read_whole(file.get());
}

bool write_whole(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t wrote = write(fd, bytes.data(), bytes.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        bytes.remove_prefix(static_cast<size_t>(wrote));
    }
    return true;
}

}  // namespace snoopie
