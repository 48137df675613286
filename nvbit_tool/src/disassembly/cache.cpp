#include "disassembly/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/byte_size.h"
#include "base/files.h"
#include "settings/disassembly.h"

namespace snoopie {

namespace {

constexpr const char* kEnding = ".zst";
constexpr int kLockMilliseconds = 2000;  // a lock held for longer than this belongs to a process that is stopped
constexpr int kCompressionLevel = 3;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

bool make_directories(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
        mkdir(path.substr(0, slash).c_str(), 0777);
    mkdir(path.c_str(), 0777);
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// What an entry takes of a disk with blocks of the usual size.
uint64_t disk_bytes(uint64_t file_bytes) {
    constexpr uint64_t kBlock = 4096;
    return (file_bytes + kBlock - 1) / kBlock * kBlock;
}

bool lock(int fd) {
    for (int i = 0; i < kLockMilliseconds; ++i) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
        // Where nothing can be locked, as on some network file systems, waiting does not help.
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        usleep(1000);
    }
    return false;
}

// An entry is one zstd frame of the size of stdout, as eight bytes, stdout, and stderr.
std::string encode(const Output& output) {
    uint64_t out_bytes = output.out.size();
    std::string content(reinterpret_cast<const char*>(&out_bytes), sizeof out_bytes);
    content += output.out;
    content += output.err;
    std::string frame(ZSTD_compressBound(content.size()), '\0');
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kCompressionLevel);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    const size_t bytes = ZSTD_compress2(context, frame.data(), frame.size(), content.data(), content.size());
    ZSTD_freeCCtx(context);
    frame.resize(ZSTD_isError(bytes) ? 0 : bytes);
    return frame;
}

// Takes no size from the frame's header, which may be damaged, before the content is there.
std::optional<Output> decode(const std::string& frame) {
    std::string content;
    std::string piece(ZSTD_DStreamOutSize(), '\0');
    ZSTD_inBuffer in{frame.data(), frame.size(), 0};
    ZSTD_DCtx* context = ZSTD_createDCtx();
    size_t left = 1;  // 0: the frame is decoded and its checksum right
    while (left != 0 && !ZSTD_isError(left)) {
        ZSTD_outBuffer out{piece.data(), piece.size(), 0};
        const size_t before = in.pos;
        left = ZSTD_decompressStream(context, &out, &in);
        if (out.pos == 0 && in.pos == before) break;
        content.append(piece, 0, out.pos);
    }
    ZSTD_freeDCtx(context);
    uint64_t out_bytes = 0;
    if (left != 0 || in.pos != in.size || content.size() < sizeof out_bytes) return std::nullopt;
    std::memcpy(&out_bytes, content.data(), sizeof out_bytes);
    if (out_bytes > content.size() - sizeof out_bytes) return std::nullopt;
    return Output{content.substr(sizeof out_bytes, out_bytes), content.substr(sizeof out_bytes + out_bytes)};
}

}  // namespace

std::string cache_directory() {
    std::string base = variable(kCacheVariable);
    if (base.empty()) {
        base = variable("XDG_CACHE_HOME");
        if (base.empty() || base[0] != '/') {  // a relative one is to be ignored, says its specification
            base = variable("HOME");
            if (base.empty()) return "";
            base += "/.cache";
        }
        base += "/snoopie";
    }
    return base + "/disassembly";
}

std::optional<Cache> open_cache() {
    const char* text = std::getenv(kCacheSizeVariable);
    // One that is not understood is the collector's to complain of, once.
    const uint64_t bound = parse_byte_size(text && *text ? text : kDefaultCacheSize).value_or(0);
    const std::string directory = cache_directory();
    if (bound == 0 || directory.empty()) return std::nullopt;
    return std::optional<Cache>(std::in_place, directory, bound);
}

std::optional<Output> Cache::find(const std::string& key) const {
    const Descriptor file(open(path(key + kEnding).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return std::nullopt;
    const std::optional<std::string> frame = read_whole(file.get());
    if (!frame) return std::nullopt;
    futimens(file.get(), nullptr);
    return decode(*frame);
}

void Cache::store(const std::string& key, const Output& output) const {
    const std::string frame = encode(output);
    if (frame.empty() || disk_bytes(frame.size()) > most_bytes_ || !make_directories(directory_)) return;
    const Descriptor total(open(path("total").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!total || !lock(total.get())) return;

    // Only the holder of the lock writes this file, so that one left by a killed process is simply written again.
    const std::string incoming = path("incoming");
    {
        const Descriptor file(open(incoming.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        if (!file || !write_whole(file.get(), frame)) {
            unlink(incoming.c_str());
            return;
        }
    }
    if (rename(incoming.c_str(), path(key + kEnding).c_str()) != 0) return;

    uint64_t bytes = 0;
    const bool known = pread(total.get(), &bytes, sizeof bytes, 0) == sizeof bytes;
    bytes += disk_bytes(frame.size());
    if (!known || bytes > most_bytes_) bytes = prune();
    if (pwrite(total.get(), &bytes, sizeof bytes, 0) != sizeof bytes && ftruncate(total.get(), 0) != 0) return;
}

uint64_t Cache::prune() const {
    struct Entry {
        timespec used;
        uint64_t bytes;
        std::string name;
    };
    std::vector<Entry> entries;
    uint64_t bytes = 0;
    DIR* directory = opendir(directory_.c_str());
    if (!directory) return 0;
    while (const dirent* file = readdir(directory)) {
        const std::string name = file->d_name;
        struct stat info;
        if (name.size() <= std::strlen(kEnding) || name.compare(name.size() - std::strlen(kEnding), std::string::npos, kEnding) != 0)
            continue;
        if (fstatat(dirfd(directory), file->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        entries.push_back({info.st_mtim, disk_bytes(static_cast<uint64_t>(info.st_size)), name});
        bytes += entries.back().bytes;
    }
    if (bytes > most_bytes_) {
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
            return std::make_pair(a.used.tv_sec, a.used.tv_nsec) < std::make_pair(b.used.tv_sec, b.used.tv_nsec);
        });
        for (const Entry& entry : entries) {
            if (bytes <= most_bytes_ / 4 * 3) break;
            if (unlinkat(dirfd(directory), entry.name.c_str(), 0) == 0) bytes -= entry.bytes;
        }
    }
    closedir(directory);
    return bytes;
}

}  // namespace snoopie
