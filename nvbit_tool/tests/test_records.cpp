// Single accesses: patterns, the order of rows, columns of differences.
#include <algorithm>
#include <limits>
#include <random>

#include "check.h"
#include "trace/record_writer.h"
#include "trace/row_order.h"
#include "trace/trace_writer.h"
#include "trace_file.h"

using namespace snoopie;
using test::Block;
using test::get;

namespace {

constexpr size_t kDeltaStart = 8;  // bytes of the lowest value

// The values of a column of differences of `width` bytes that begins at `at`.
std::vector<u8> differences(const std::string& content, size_t at, size_t count, size_t width) {
    const u8 limit = width == 8 ? ~u8{0} : (u8{1} << 8 * width) - 1;
    const u8 lowest = get<u8>(content, at);
    std::vector<u8> values;
    u8 offset = 0;
    for (size_t i = 0; i < count; ++i) {
        u8 stored = 0;
        for (size_t byte = 0; byte < width; ++byte)
            stored |= u8{static_cast<uint8_t>(content[at + kDeltaStart + byte * count + i])} << 8 * byte;
        offset += stored & 1 ? ~(stored >> 1) : stored >> 1;
        values.push_back(lowest + (offset & limit));
    }
    return values;
}

struct Record {
    u4 pattern;
    u8 base, time, block;
    u1 warp;
    u2 sm = 0;

    bool operator==(const Record& other) const {
        return pattern == other.pattern && base == other.base && time == other.time && block == other.block && warp == other.warp &&
               sm == other.sm;
    }
};

std::vector<Record> records(const Block& block) {
    const size_t n = block.rows;
    const size_t base = 4 * n, time = base + kDeltaStart + 8 * n, linear = time + kDeltaStart + 4 * n, warp = linear + kDeltaStart + 4 * n,
                 sm = warp + n;
    CHECK_EQ(block.content.size(), sm + 2 * n);
    const std::vector<u8> bases = differences(block.content, base, n, 8), times = differences(block.content, time, n, 4),
                          blocks = differences(block.content, linear, n, 4);
    std::vector<Record> rows;
    for (size_t i = 0; i < n; ++i)
        rows.push_back({get<u4>(block.content, 4 * i), bases[i], times[i], blocks[i], get<u1>(block.content, warp + i),
                        get<u2>(block.content, sm + 2 * i)});
    return rows;
}

// Writes a trace and reads its blocks of one table.
template <class Write>
std::vector<Block> blocks_of(Table table, Write write) {
    const test::TemporaryFile file;
    {
        TraceWriter writer(file.fd(), "{}", {});
        write(writer);
        writer.finish("{}");
    }
    std::vector<Block> found;
    for (const Block& block : test::read(file.path()))
        if (block.table == static_cast<uint32_t>(table)) found.push_back(block);
    return found;
}

void order() {
    std::mt19937_64 random(1);
    for (const int bits : {0, 3, 17, 40, 64}) {
        std::vector<RowKey> keys;
        for (uint32_t row = 0; row < 3000; ++row) {
            const uint64_t second = bits == 0 ? 7 : random() >> (64 - bits);
            keys.push_back({second, static_cast<uint32_t>(random() % 5) << 29, row});
        }
        const std::vector<uint32_t> sorted = row_order(keys);
        std::stable_sort(keys.begin(), keys.end(),
                         [](const RowKey& a, const RowKey& b) { return a.first != b.first ? a.first < b.first : a.second < b.second; });
        for (size_t i = 0; i < keys.size(); ++i) CHECK_EQ(sorted[i], keys[i].row);
    }
    CHECK(row_order({}).empty());
}

void coalesced() {
    const RecordRow rows[] = {
        {2, 0x7f0000000080, 5000000100, 3, 1, 0x101}, {1, 0x7f0000000000, 5000000000, 9, 0, 1}, {2, 0x10, 5000000300, 1, 31, 0}};
    const std::vector<Block> blocks = blocks_of(Table::records, [&](TraceWriter& writer) {
        for (const RecordRow& row : rows) writer.append(row);
    });
    CHECK_EQ(blocks.size(), 1u);
    CHECK_EQ(blocks[0].raw_size, 3u * (4 + 8 + 4 + 4 + 1 + 2) + 3 * kDeltaStart);
    const std::vector<Record> expected = {
        {1, 0x7f0000000000, 5000000000, 9, 0, 1}, {2, 0x10, 5000000300, 1, 31, 0}, {2, 0x7f0000000080, 5000000100, 3, 1, 0x101}};
    CHECK(records(blocks[0]) == expected);
}

// What does not fit beside the others begins a block.
void far_apart() {
    constexpr u8 kLast = std::numeric_limits<u8>::max();
    const std::vector<Block> blocks = blocks_of(Table::records, [&](TraceWriter& writer) {
        writer.append(RecordRow{1, kLast, 10, 0, 0});
        writer.append(RecordRow{2, 0, 10 + u8{0xFFFFFFFF}, kLast, 0});
        writer.append(RecordRow{3, kLast / 2, 10 + u8{0xFFFFFFFF}, kLast - 0xFFFFFFFF, 0});
        writer.append(RecordRow{4, 0, 9, kLast, 0});
    });
    CHECK_EQ(blocks.size(), 3u);
    CHECK(records(blocks[0]) == std::vector<Record>({{1, kLast, 10, 0, 0}}));
    CHECK(records(blocks[1]) ==
          std::vector<Record>({{2, 0, 10 + u8{0xFFFFFFFF}, kLast, 0}, {3, kLast / 2, 10 + u8{0xFFFFFFFF}, kLast - 0xFFFFFFFF, 0}}));
    CHECK(records(blocks[2]) == std::vector<Record>({{4, 0, 9, kLast, 0}}));
}

void patterns() {
    const std::vector<Block> blocks = blocks_of(Table::patterns, [](TraceWriter& writer) {
        RecordWriter accesses(&writer);
        const Access access{7, 8, 1, 2, 0xFF, 100, 3, 4};
        Access other = access;
        other.mask = 1;
        for (int i = 0; i < 3; ++i) {
            accesses.strided(access, 0x1000, -4);
            accesses.strided(other, 0x1000, -4);
            accesses.bulk(other, 0x1000, 64);
        }
        CHECK_EQ(accesses.pending(), 9u);
        accesses.flush();
        CHECK_EQ(accesses.pending(), 0u);
        accesses.strided(access, 0x2000, -4);
        accesses.flush();
    });
    CHECK_EQ(blocks.size(), 1u);
    CHECK_EQ(blocks[0].rows, 3u);
    const std::string& content = blocks[0].content;
    CHECK_EQ(content.size(), 3u * (4 + 4 + 4 + 1 + 1 + 4 + 8));
    for (u4 row = 0; row < 3; ++row) CHECK_EQ(get<u4>(content, 4 * row), row + 1);
    CHECK_EQ(get<u4>(content, 12), 7u);                                                            // launch
    CHECK_EQ(get<u4>(content, 24), 8u);                                                            // site
    CHECK(get<u1>(content, 36) == 1 && get<u1>(content, 39) == 2);                                 // issuer, owner
    CHECK(get<u4>(content, 42) == 0xFF && get<u4>(content, 46) == 1);                              // masks
    CHECK(get<i8>(content, 54) == -4 && get<i8>(content, 62) == -4 && get<i8>(content, 70) == 0);  // strides
}

// Patterns that are forgotten are written again, with the next ids.
void many_patterns() {
    constexpr u4 kCount = RecordWriter::kPatterns + 1;
    const test::TemporaryFile file;
    {
        TraceWriter writer(file.fd(), "{}", {});
        RecordWriter accesses(&writer);
        for (int round = 0; round < 2; ++round)
            for (u4 i = 0; i < kCount; ++i) accesses.strided({i, 1, 0, 1, ~0u, 0, 0, 0}, i, 4);
        accesses.flush();
        writer.finish("{}");
    }
    u4 last = 0;
    std::vector<u4> launches(1);
    uint64_t rows = 0;
    for (const Block& block : test::read(file.path())) {
        for (u4 row = 0; block.table == static_cast<uint32_t>(Table::patterns) && row < block.rows; ++row) {
            CHECK_EQ(get<u4>(block.content, 4 * row), ++last);
            launches.push_back(get<u4>(block.content, 4 * (block.rows + row)));
        }
        if (block.table != static_cast<uint32_t>(Table::records)) continue;
        rows += block.rows;
        for (const Record& record : records(block)) {
            CHECK(record.pattern <= last);  // its pattern stands in an earlier block
            CHECK_EQ(launches[record.pattern], record.base);
        }
    }
    CHECK_EQ(rows, 2u * kCount);
    CHECK_EQ(last, 2u * kCount);
}

void scattered() {
    u8 addresses[32] = {};
    addresses[1] = 0x7f0000000040;
    addresses[2] = 0x10;
    addresses[31] = std::numeric_limits<u8>::max();
    const std::vector<Block> blocks = blocks_of(Table::scattered, [&](TraceWriter& writer) {
        RecordWriter accesses(&writer);
        for (const u1 warp : {5, 6}) accesses.scattered({1, 2, 0, 1, 0x80000006, 100, 3, warp, 132}, addresses);
        accesses.flush();
    });
    CHECK_EQ(blocks.size(), 1u);
    const size_t start = 2 * 4 + 2 * (kDeltaStart + 2 * 4) + 2 + 2 * 2;
    CHECK_EQ(blocks[0].content.size(), start + kDeltaStart + 2 * 32 * 8);
    CHECK_EQ(get<u1>(blocks[0].content, start - 5), 6);  // in the order of writing
    CHECK_EQ(get<u2>(blocks[0].content, start - 2), 132);
    const std::vector<u8> values = differences(blocks[0].content, start, 64, 8);
    for (const size_t row : {0, 32})
        for (const size_t lane : {1, 2, 31}) CHECK_EQ(values[row + lane], addresses[lane]);
}

}  // namespace

int main() {
    order();
    coalesced();
    far_apart();
    patterns();
    many_patterns();
    scattered();
    return test::summary("records");
}
