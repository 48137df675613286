// Samples of the memory in use: which of them are written, and when.
#include "memory/memory_use.h"

#include <unistd.h>

#include <atomic>
#include <tuple>

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

// Until all GPUs have been asked once more, whatever else the machine does.
void wait_for_sample(const std::atomic<int>& asked) {
    const int before = asked;
    while (asked < before + 2) usleep(1000);
}

// What stays the same is written once a second; the last is, whenever it comes.
void check_intervals(const std::vector<Sample>& of) {
    const auto what = [](const Sample& one) { return std::tuple(one.used, one.own, one.reserved, one.pool_used); };
    for (size_t i = 1; i + 1 < of.size(); ++i)
        CHECK(what(of[i]) != what(of[i - 1]) || of[i].time - of[i - 1].time >= 1000000u * MemoryUse::kUnchangedMilliseconds);
}

void what_changes_is_written() {
    test::TemporaryFile file;
    std::atomic<int64_t> used{100};
    std::atomic<int> asked{0};
    const auto ask = [&](size_t gpu) {
        asked += gpu == 0;
        return gpu == 0 ? UsedBytes{used, 10} : UsedBytes{};
    };
    TraceWriter writer(file.fd(), "{}", {});
    MemoryUse use(&writer, 2, ask, [] {});
    wait_for_sample(asked);
    used = 300;
    wait_for_sample(asked);
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
    for (const std::vector<Sample>& of_gpu : of) check_intervals(of_gpu);
    // First, changed, last; and where this test took long, others that stayed the same.
    CHECK(of[0].size() >= 3u);
    CHECK_EQ(of[0].front().used, 100);
    CHECK_EQ(of[0].front().own, 10);
    CHECK_EQ(of[0].front().reserved, 0);
    CHECK_EQ(of[0].at(of[0].size() - 2).used, 300);
    CHECK_EQ(of[0].back().used, 300);
    CHECK(of[1].size() >= 2u);
    CHECK_EQ(of[1].front().used, -1);
    CHECK_EQ(of[1].front().pool_used, 0);
    CHECK_EQ(of[1].back().reserved, 64);
    CHECK_EQ(of[1].back().pool_used, 32);
}

void what_stays_is_written_once_a_second() {
    test::TemporaryFile file;
    TraceWriter writer(file.fd(), "{}", {});
    std::atomic<int> asked{0};
    const auto ask = [&](size_t) {
        ++asked;
        return UsedBytes{1, 1};
    };
    MemoryUse use(&writer, 1, ask, [] {});
    usleep(1000 * MemoryUse::kUnchangedMilliseconds);
    wait_for_sample(asked);
    use.stop();
    writer.finish("{}");
    const auto found = samples(file.path());
    CHECK(found.size() >= 3u);
    check_intervals(found);
}

}  // namespace

int main() {
    what_changes_is_written();
    what_stays_is_written_once_a_second();
    return test::summary("memory use");
}
