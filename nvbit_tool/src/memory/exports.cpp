#include "memory/exports.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sstream>
#include <vector>

#include "base/files.h"
#include "base/hex.h"
#include "base/signals.h"

namespace snoopie {

namespace {

bool is_own_folder(const std::string& path) {
    struct stat status;
    return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 077) == 0;
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

bool Exports::append(const std::string& line) {
    const NoFileSizeSignal no_signal;
    return open() && write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

bool Exports::publish(std::string_view handle, const std::string& uuid) {
    std::unique_lock lock(mutex_);
    return append("\n" + hex(handle) + " " + uuid + "\n");
}

std::vector<std::string> Exports::read() const {
    std::vector<std::string> texts;
    if (!is_own_folder(folder_)) return texts;
    for (const std::string& path : files_of(folder_)) {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0) continue;
        const bool dead = path != path_ && flock(fd, LOCK_SH | LOCK_NB) == 0;
        if (dead)
            unlink(path.c_str());
        else
            texts.push_back(read_whole(fd).value_or(""));
        ::close(fd);
    }
    return texts;
}

std::optional<std::string> Exports::find(std::string_view handle) const {
    std::unique_lock lock(mutex_);
    const std::string key = "\n" + hex(handle) + " ";
    for (const std::string& text : read()) {
        const size_t at = text.rfind(key);
        if (at == std::string::npos) continue;
        const size_t begin = at + key.size();
        const size_t end = text.find('\n', begin);
        if (end != std::string::npos) return text.substr(begin, end - begin);  // a line without an end is being written
    }
    return std::nullopt;
}

bool Exports::publish_descriptor(int descriptor, const std::string& uuid) {
    std::unique_lock lock(mutex_);
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return false;
    copies_.emplace_back(copy, std::chrono::steady_clock::now());
    return append("\nfile " + std::to_string(getpid()) + " " + std::to_string(copy) + " " + uuid + "\n");
}

std::optional<std::string> Exports::find_descriptor(int descriptor) const {
    std::unique_lock lock(mutex_);
    for (const std::string& text : read()) {
        constexpr std::string_view kKey = "\nfile ";
        for (size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
            const size_t end = text.find('\n', at + 1);
            if (end == std::string::npos) break;
            std::istringstream line(text.substr(at + kKey.size(), end - at - kKey.size()));
            pid_t pid = 0;
            int copy = -1;
            std::string uuid;
            if (!(line >> pid >> copy >> uuid)) continue;
            if (syscall(SYS_kcmp, getpid(), pid, KCMP_FILE, descriptor, copy) == 0) return uuid;
        }
    }
    return std::nullopt;
}

void Exports::tidy() {
    std::unique_lock lock(mutex_);
    const auto due = std::chrono::steady_clock::now() - std::chrono::seconds(kDescriptorSeconds);
    while (!copies_.empty() && copies_.front().second < due) {
        ::close(copies_.front().first);
        copies_.erase(copies_.begin());
    }
}

void Exports::close() {
    std::unique_lock lock(mutex_);
    for (const auto& [copy, since] : copies_) ::close(copy);
    copies_.clear();
    if (fd_ < 0) return;
    unlink(path_.c_str());
    ::close(fd_);
    fd_ = -1;
}

}  // namespace snoopie
