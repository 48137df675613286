#include "exports.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

namespace snoopie {

namespace {

std::string hex(std::string_view bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += kDigits[static_cast<unsigned char>(c) >> 4];
        text += kDigits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

bool is_own_folder(const std::string& path) {
    struct stat status;
    return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 077) == 0;
}

std::string read_all(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
    return text;
}

std::vector<std::string> files_of(const std::string& folder) {
    std::vector<std::string> paths;
    DIR* const directory = opendir(folder.c_str());
    if (!directory) return paths;
    while (const dirent* entry = readdir(directory))
        if (entry->d_name[0] != '.') paths.push_back(folder + "/" + entry->d_name);
    closedir(directory);
    return paths;
}

}  // namespace

std::string Exports::default_folder() {
    const std::string name = "snoopie-" + std::to_string(geteuid());
    return (access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : "/tmp/") + name;
}

Exports::~Exports() { close(); }

bool Exports::open() {
    if (fd_ >= 0) return true;
    mkdir(folder_.c_str(), 0700);
    if (!is_own_folder(folder_)) return false;
    // Locked before it gets the name that others look at: to them a file without a lock is one whose process is dead.
    std::string hidden = folder_ + "/.XXXXXX";
    fd_ = mkostemp(hidden.data(), O_CLOEXEC | O_APPEND);
    if (fd_ < 0) return false;
    path_ = folder_ + "/" + hidden.substr(folder_.size() + 2);
    if (flock(fd_, LOCK_EX) == 0 && rename(hidden.c_str(), path_.c_str()) == 0) return true;
    unlink(hidden.c_str());
    ::close(fd_);
    fd_ = -1;
    return false;
}

bool Exports::publish(std::string_view handle, const std::string& uuid) {
    std::unique_lock lock(mutex_);
    if (!open()) return false;
    const std::string line = "\n" + hex(handle) + " " + uuid + "\n";
    return write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

std::optional<std::string> Exports::find(std::string_view handle) const {
    std::unique_lock lock(mutex_);
    if (!is_own_folder(folder_)) return std::nullopt;
    const std::string key = "\n" + hex(handle) + " ";
    for (const std::string& path : files_of(folder_)) {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0) continue;
        const bool dead = path != path_ && flock(fd, LOCK_SH | LOCK_NB) == 0;
        const std::string text = dead ? "" : read_all(fd);
        if (dead) unlink(path.c_str());
        ::close(fd);
        const size_t at = text.rfind(key);
        if (at == std::string::npos) continue;
        const size_t begin = at + key.size();
        const size_t end = text.find('\n', begin);
        if (end != std::string::npos) return text.substr(begin, end - begin);  // a line without an end is being written
    }
    return std::nullopt;
}

void Exports::close() {
    std::unique_lock lock(mutex_);
    if (fd_ < 0) return;
    unlink(path_.c_str());
    ::close(fd_);
    fd_ = -1;
}

}  // namespace snoopie
