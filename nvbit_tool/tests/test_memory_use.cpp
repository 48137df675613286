// Samples of the memory in use: which of them are written, and when.
#include "memory/memory_use.h"

#include <unistd.h>

#include <atomic>

#include "check.h"
#include "trace_file.h"

using namespace snoopie;

namespace {

constexpr size_t kRowBytes = 8 + 1 + 4 * 8;

struct Sample {
    uint64_t time;
    int gpu;
    int64_t used, own, reserved, pool_used;
};

std::vector<Sample> samples(const std::string& path) {
    std::vector<Sample> found;
    for (const test::Block& block : test::read(path)) {
        if (block.table != static_cast<uint32_t>(Table::memory_use)) continue;
        const size_t n = block.rows;
        CHECK_EQ(block.content.size(), n * kRowBytes);
        for (size_t i = 0; i < n; ++i) {
            const auto number = [&](size_t column) { return test::get<int64_t>(block.content, 9 * n + (column * n + i) * 8); };
            found.push_back({test::get<uint64_t>(block.content, 8 * i), static_cast<uint8_t>(block.content[8 * n + i]), number(0),
                             number(1), number(2), number(3)});
        }
    }
    return found;
}

void what_changes_is_written() {
    test::TemporaryFile file;
    std::atomic<int64_t> used{100};
    TraceWriter writer(file.fd(), "{}", {});
    MemoryUse use(&writer, 2, [&](size_t gpu) { return gpu == 0 ? UsedBytes{used, 10} : UsedBytes{}; }, [] {});
    usleep(250 * 1000);
    used = 300;
    usleep(250 * 1000);
    use.pools()[1].reserved = 64;
    use.pools()[1].used = 32;
    use.stop();
    use.stop();
    writer.finish("{}");
    std::vector<std::vector<Sample>> of(2);
    uint64_t before = 0;
    for (const Sample& sample : samples(file.path())) {
        CHECK(sample.time >= before);
        before = sample.time;
        of.at(static_cast<size_t>(sample.gpu)).push_back(sample);
    }
    CHECK_EQ(of[0].size(), 3u);  // first, changed, last
    CHECK_EQ(of[0][0].used, 100);
    CHECK_EQ(of[0][0].own, 10);
    CHECK_EQ(of[0][0].reserved, 0);
    CHECK_EQ(of[0][1].used, 300);
    CHECK_EQ(of[0][2].used, 300);
    CHECK_EQ(of[1].size(), 2u);
    CHECK_EQ(of[1][0].used, -1);
    CHECK_EQ(of[1][0].pool_used, 0);
    CHECK_EQ(of[1][1].reserved, 64);
    CHECK_EQ(of[1][1].pool_used, 32);
}

void what_stays_is_written_once_a_second() {
    test::TemporaryFile file;
    TraceWriter writer(file.fd(), "{}", {});
    MemoryUse use(&writer, 1, [](size_t) { return UsedBytes{1, 1}; }, [] {});
    usleep(1400 * 1000);
    use.stop();
    writer.finish("{}");
    const auto found = samples(file.path());
    CHECK_EQ(found.size(), 3u);
    CHECK(found.at(1).time - found.at(0).time >= 1000000000u);
}

}  // namespace

int main() {
    what_changes_is_written();
    what_stays_is_written_once_a_second();
    return test::summary("memory use");
}
