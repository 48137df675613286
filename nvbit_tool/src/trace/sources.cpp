#include "trace/sources.h"

#include <sys/stat.h>

#include <functional>
#include <utility>

#include "base/files.h"

namespace snoopie {

Sources::Text Sources::read(const std::string& file) const {
    struct stat info;
    Text read;
    if (std::optional<std::string> compiled = compiled_->find(file)) {
        read.bytes = compiled->size();
        if (read.bytes <= limits_.file) read.text = std::move(compiled);
        return read;
    }
    if (stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return read;
    read.bytes = static_cast<uint64_t>(info.st_size);
    if (read.bytes > limits_.file) return read;
    read.text = read_file(file, limits_.file);
    if (read.text && read.text->find('\0') != std::string::npos) read.text.reset();
    read.bytes = read.text ? read.text->size() : 0;
    return read;
}

void Sources::seen(const std::string& file) {
    std::unique_lock lock(mutex_);
    if (!files_.try_emplace(file).second) return;
    if (waiting_ >= limits_.waiting) return;
    // Whoever writes what the GPUs have counted does not wait for a disk.
    lock.unlock();
    Text text = read(file);
    lock.lock();
    Text& kept = files_[file];
    if (kept.written) return;
    if (text.text) waiting_ += text.text->size();
    kept = std::move(text);
}

void Sources::reached(const std::string& file) {
    std::unique_lock lock(mutex_);
    Text& kept = files_[file];
    if (kept.written) return;
    Text text = std::exchange(kept, {std::nullopt, 0, true});
    if (text.text)
        waiting_ -= text.text->size();
    else if (text.bytes == 0)
        text = read(file);
    SourceRow row{++last_row_, writer_->intern(file), "", 0, text.bytes, 0};
    if (text.text) {
        const std::pair key(std::hash<std::string>{}(*text.text), text.text->size());
        const auto equal = rows_.find(key);
        if (equal != rows_.end()) {
            row.same_as = equal->second;
        } else if (written_ + text.bytes <= limits_.written) {
            written_ += text.bytes;
            rows_.emplace(key, row.id);
            row.text = std::move(*text.text);
        }
        row.kept = row.same_as != 0 || row.text.size() == row.bytes;
    }
    writer_->append(row);
}

}  // namespace snoopie
