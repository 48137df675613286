// Traces on disk, read as docs/trace-format.md says.
#pragma once

#include <unistd.h>
#include <zstd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "trace/crc32.h"
#include "trace/schema.h"

namespace test {

struct Block {
    uint32_t sequence, table, rows;
    uint64_t raw_size, data_size, dropped;
    std::string content;
};

template <class T>
T get(const std::string& bytes, size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

inline std::vector<Block> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::vector<Block> blocks;
    for (size_t at = 0; at < bytes.size();) {
        CHECK_EQ(get<uint32_t>(bytes, at), 0x184D2A53u);
        CHECK_EQ(get<uint32_t>(bytes, at + 4), 48u);
        const std::string entry = bytes.substr(at + 8, 48);
        CHECK_EQ(entry.substr(0, 4), "SNPB");
        CHECK_EQ(get<uint32_t>(entry, 44), snoopie::crc32(entry.data(), 44));
        Block block{get<uint32_t>(entry, 4),
                    get<uint32_t>(entry, 8),
                    get<uint32_t>(entry, 12),
                    get<uint64_t>(entry, 16),
                    get<uint64_t>(entry, 24),
                    get<uint64_t>(entry, 32),
                    ""};
        const std::string data = bytes.substr(at + 56, block.data_size);
        CHECK_EQ(data.size(), block.data_size);
        CHECK_EQ(get<uint32_t>(entry, 40), snoopie::crc32(data.data(), data.size()));
        CHECK_EQ(ZSTD_getFrameContentSize(data.data(), data.size()), block.raw_size);
        block.content.resize(block.raw_size);
        CHECK_EQ(ZSTD_decompress(block.content.data(), block.content.size(), data.data(), data.size()), block.raw_size);
        CHECK_EQ(block.sequence, blocks.size());
        blocks.push_back(block);
        at += 56 + block.data_size;
    }
    return blocks;
}

// The tables of the blocks that are whole, of a file that may be written meanwhile.
inline std::vector<snoopie::Table> tables_on_disk(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::vector<snoopie::Table> tables;
    for (size_t at = 0; at + 56 <= bytes.size();) {
        const uint64_t end = at + 56 + get<uint64_t>(bytes, at + 32);
        if (end > bytes.size()) break;
        tables.push_back(static_cast<snoopie::Table>(get<uint32_t>(bytes, at + 16)));
        at = end;
    }
    return tables;
}

// Waits until something has come about, on a busy machine also for long.
template <class Condition>
void await(Condition has_come) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    bool come = false;
    while (!(come = has_come()) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(come);
}

class TemporaryFile {
  public:
    TemporaryFile() { fd_ = mkstemp(path_); }
    ~TemporaryFile() { unlink(path_); }
    int fd() const { return fd_; }
    std::string path() const { return path_; }

  private:
    char path_[32] = "/tmp/snoopie-test-XXXXXX";
    int fd_;
};

}  // namespace test
