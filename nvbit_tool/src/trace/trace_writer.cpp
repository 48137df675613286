#include "trace/trace_writer.h"

#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/attempt.h"
#include "base/signals.h"
#include "trace/crc32.h"

namespace snoopie {

namespace {

constexpr uint32_t kSkippableMagic = 0x184D2A53;
constexpr uint32_t kEntryBytes = 48;
constexpr Table kLastTable = static_cast<Table>(kTables - 1);

template <class T>
void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The skippable frame before a block's data; docs/trace-format.md has the offsets.
std::string index_entry(uint32_t sequence, Table table, uint32_t rows, uint64_t raw_size, uint64_t dropped, const std::string& data) {
    std::string entry = "SNPB";
    put(entry, sequence);
    put(entry, static_cast<uint32_t>(table));
    put(entry, rows);
    put(entry, raw_size);
    put(entry, static_cast<uint64_t>(data.size()));
    put(entry, dropped);
    put(entry, crc32(data.data(), data.size()));
    put(entry, crc32(entry.data(), entry.size()));
    std::string frame;
    put(frame, kSkippableMagic);
    put(frame, kEntryBytes);
    return frame + entry;
}

}  // namespace

TraceWriter::TraceWriter(int fd, const std::string& header, Settings settings, void (*on_thread)())
    : settings_(settings), on_thread_(on_thread), fd_(fd) {
    // The header and the footer have no columns.
    builders_.resize(kTables, TableBuilder({}));
    for (const TableSchema& table : schema()) builders_[static_cast<size_t>(table.id)] = TableBuilder(table);
    queue_.push_back({Table::header, builders_.front(), header});
    try {
        thread_ = std::thread([this] { run(); });
    } catch (...) {
        close(fd_);
        throw;
    }
}

TraceWriter::~TraceWriter() {
    if (thread_.joinable()) finish("{}");
}

uint32_t TraceWriter::intern(const std::string& text) {
    if (text.empty()) return 0;
    std::unique_lock lock(mutex_);
    const auto [entry, is_new] = strings_.try_emplace(text, static_cast<uint32_t>(strings_.size() + 1));
    if (is_new) append_locked(StringRow{entry->second, text});
    return entry->second;
}

void TraceWriter::seal_locked(Table last) {
    for (const TableSchema& table : schema()) {
        if (table.id > last) break;
        TableBuilder& builder = builders_[static_cast<size_t>(table.id)];
        if (builder.rows() == 0) continue;
        // In this order: whatever finds no memory, there is a builder for the rows that follow.
        TableBuilder sealed(table);
        std::swap(builder, sealed);
        queue_.push_back({table.id, std::move(sealed), ""});
    }
    if (!footer_.empty()) queue_.push_back({Table::footer, builders_.front(), footer_});
    wake_.notify_one();
}

void TraceWriter::wait_for_room() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return closed_ || queue_.size() < settings_.queued_blocks; });
}

void TraceWriter::checkpoint(const std::string& footer) {
    std::unique_lock lock(mutex_);
    if (closed_) return;
    end_locked(footer);
    room_.wait(lock, [this] { return queue_.empty() && !writing_; });
}

void TraceWriter::finish(const std::string& footer) {
    {
        std::unique_lock lock(mutex_);
        if (closed_) return;
        end_locked(footer);
        closed_ = true;
        wake_.notify_one();
        room_.notify_all();
    }
    thread_.join();
}

void TraceWriter::end_locked(const std::string& footer) {
    attempt(
        [&] {
            footer_ = footer;
            seal_locked(kLastTable);
        },
        [this](const char* why) { fail_locked(why); });
}

void TraceWriter::fail(const char* why) {
    std::unique_lock lock(mutex_);
    fail_locked(why);
}

void TraceWriter::fail_locked(const char* why) {
    failed_ = true;
    attempt([&] {
        if (error_.empty()) error_ = why;
    });
}

void TraceWriter::abandon() {
    // No lock: in the child of a fork its owner may not exist.
    closed_ = true;
    if (thread_.joinable()) thread_.detach();
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

std::string TraceWriter::error() const {
    std::unique_lock lock(mutex_);
    return error_;
}

void TraceWriter::run() {
    // The application's signals are not for this thread; and with SIGXFSZ blocked, a file size limit is an error of write().
    block_all_signals();
    if (on_thread_) on_thread_();
    compressor_ = ZSTD_createCCtx();
    if (compressor_) {
        ZSTD_CCtx_setParameter(static_cast<ZSTD_CCtx*>(compressor_), ZSTD_c_compressionLevel, settings_.compression_level);
        ZSTD_CCtx_setParameter(static_cast<ZSTD_CCtx*>(compressor_), ZSTD_c_checksumFlag, 1);
    } else {
        fail(std::strerror(ENOMEM));
    }

    std::unique_lock lock(mutex_);
    while (true) {
        wake_.wait_for(lock, std::chrono::milliseconds(kBlockMilliseconds / 4), [this] { return closed_ || !queue_.empty(); });
        const auto age = std::chrono::steady_clock::now() - oldest_;
        if (!closed_ && pending_ && age >= std::chrono::milliseconds(kBlockMilliseconds / 2)) {
            attempt([this] { seal_locked(kLastTable); }, [this](const char* why) { fail_locked(why); });
            pending_ = false;
        }
        while (!queue_.empty()) {
            Block block = std::move(queue_.front());
            queue_.pop_front();
            writing_ = true;
            room_.notify_all();
            lock.unlock();
            guard([&] { write_block(block); });
            lock.lock();
            writing_ = false;
        }
        room_.notify_all();
        if (closed_) break;
    }
    lock.unlock();
    ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(compressor_));
    if (close(fd_) != 0) fail(std::strerror(errno));
}

void TraceWriter::write_block(Block& block) {
    if (failed_ || !take_back_footer()) return;
    const bool is_table = block.rows.rows() > 0;
    const uint32_t rows = is_table ? block.rows.rows() : 1;
    const std::string content = is_table ? block.rows.encode() : std::move(block.json);
    std::string data(ZSTD_compressBound(content.size()), '\0');
    const size_t size = ZSTD_compress2(static_cast<ZSTD_CCtx*>(compressor_), data.data(), data.size(), content.data(), content.size());
    std::string reason;
    if (ZSTD_isError(size)) {
        reason = ZSTD_getErrorName(size);
    } else {
        data.resize(size);
        const std::string entry = index_entry(sequence_, block.table, rows, content.size(), dropped_.load(std::memory_order_relaxed), data);
        const uint64_t begin = bytes_written_;
        if (write_all(entry + data)) {
            ++sequence_;
            if (block.table == Table::footer) footer_at_ = begin;
            return;
        }
        reason = std::strerror(errno);
    }
    // Leave only whole blocks behind.
    if (ftruncate(fd_, static_cast<off_t>(bytes_written_.load())) != 0) reason += "; the last block is truncated";
    fail(reason.c_str());
}

bool TraceWriter::take_back_footer() {
    if (footer_at_ == 0) return true;
    if (ftruncate(fd_, static_cast<off_t>(footer_at_)) != 0 || lseek(fd_, static_cast<off_t>(footer_at_), SEEK_SET) < 0) {
        // What has a footer is whole: it stays as it is.
        fail(std::strerror(errno));
        return false;
    }
    bytes_written_ = footer_at_;
    footer_at_ = 0;
    --sequence_;
    return true;
}

bool TraceWriter::write_all(const std::string& bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = write(fd_, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            if (n == 0) errno = ENOSPC;
            return false;
        }
        done += static_cast<size_t>(n);
    }
    bytes_written_ += bytes.size();
    return true;
}

}  // namespace snoopie
