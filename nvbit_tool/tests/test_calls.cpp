// Driver calls, simulated: what is added up of them, by whom, and when it is in the trace.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "calls/call_totals.h"
#include "check.h"
#include "trace/schema.h"
#include "trace_file.h"

using namespace snoopie;
using test::TemporaryFile;

namespace {

constexpr uint32_t kLaunch = 1, kAllocate = 2, kFree = 3, kCopy = 4, kReset = 5;
const char* const kNames[] = {"", "cuLaunchKernel", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuDevicePrimaryCtxReset_v2"};
constexpr int32_t kOutOfMemory = 2, kInvalidValue = 1;
constexpr uint64_t kSecond = 1000000000;

// Handles of contexts and kernels.
const void* handle(uint64_t value) { return reinterpret_cast<const void*>(value); }
const void* const kContext0 = handle(10);
const void* const kContext1 = handle(11);

using Row = std::map<std::string, uint64_t>;

// The rows of a table of numbers, in the order of the file.
std::vector<Row> rows(const TemporaryFile& file, Table table) {
    const TableSchema& declared = schema()[static_cast<size_t>(table) - 2];
    std::vector<Row> found;
    for (const test::Block& block : test::read(file.path())) {
        if (block.table != static_cast<uint32_t>(table)) continue;
        const size_t first = found.size();
        found.resize(first + block.rows);
        size_t offset = 0;
        for (const Column& column : declared.columns) {
            const size_t size = static_cast<size_t>(column.type[1] - '0');
            for (uint32_t row = 0; row < block.rows; ++row, offset += size)
                std::memcpy(&found[first + row][column.name], &block.content[offset], size);
        }
        CHECK_EQ(offset, block.content.size());
    }
    return found;
}

std::vector<std::string> strings(const TemporaryFile& file) {
    std::vector<std::string> texts{""};
    for (const test::Block& block : test::read(file.path())) {
        if (block.table != static_cast<uint32_t>(Table::strings)) continue;
        size_t place = 8 * block.rows;
        for (uint32_t row = 0; row < block.rows; ++row) {
            const auto length = test::get<uint32_t>(block.content, 4 * (block.rows + row));
            texts.push_back(block.content.substr(place, length));
            place += length;
        }
    }
    return texts;
}

// A trace, and the sums that go into it.
class Program {
  public:
    explicit Program(bool events = false)
        : writer_(dup(file.fd()), "{}", {}),
          calls(&writer_, events,
                {[this](const void* context) {
                     ++lookups;
                     return context == kContext0 ? first_gpu.load() : uint8_t{1};
                 },
                 [this](const void*, const void* function) {
                     ++lookups;
                     return "kernel" + std::to_string(reinterpret_cast<uint64_t>(function)) + "(int)";
                 },
                 [](int32_t code) { return code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INVALID_VALUE"; }}) {}

    void call(uint32_t which, const void* context = nullptr, CallEnd end = {}, const void* function = nullptr, uint64_t more = 0) {
        calls.begins(which, context, function);
        calls.returns(CallTotals::clock() + more, which, kNames[which], end);
    }
    void end() {
        calls.stop();
        writer_.finish("{}");
        texts = strings(file);
    }
    // The rows of a call, added up.
    Row sum(uint32_t which, Table table = Table::call_totals, const Row& with = {}) {
        Row total;
        for (Row& row : rows(file, table)) {
            bool same = texts[row["call"]] == kNames[which];
            for (const auto& [name, value] : with) same = same && row[name] == value;
            if (!same) continue;
            for (const char* name : {"calls", "errors", "total", "bytes"}) total[name] += row[name];
            total["most"] = std::max(total["most"], row["most"]);
            total["least"] = total["rows"]++ ? std::min(total["least"], row["least"]) : row["least"];
            total["gpu"] = row["gpu"];
        }
        return total;
    }
    uint32_t string(const std::string& text) {
        for (uint32_t id = 0; id < texts.size(); ++id)
            if (texts[id] == text) return id;
        return ~0u;
    }

    TemporaryFile file;
    std::atomic<int> lookups{0};
    std::atomic<uint8_t> first_gpu{0};
    std::vector<std::string> texts;

  private:
    TraceWriter writer_;

  public:
    CallTotals calls;
};

void sums() {
    Program program;
    for (int i = 0; i < 3; ++i) program.call(kAllocate, kContext0, {0, false, 100});
    program.call(kAllocate, kContext1, {kOutOfMemory, true, 0}, nullptr, 8 * kSecond / 10);
    program.call(kAllocate, nullptr);
    for (uint64_t i = 0; i < 5; ++i) program.call(kLaunch, kContext0, {}, handle(100 + i % 2));
    program.end();

    CHECK_EQ(program.sum(kAllocate)["calls"], 5u);
    Row own = program.sum(kAllocate, Table::call_totals, {{"gpu", 0}});
    CHECK_EQ(own["calls"], 3u);
    CHECK_EQ(own["errors"], 0u);
    CHECK_EQ(own["bytes"], 300u);
    CHECK(own["least"] <= own["most"] && own["most"] <= own["total"] && own["total"] < kSecond);
    own = program.sum(kAllocate, Table::call_totals, {{"gpu", 1}});
    CHECK_EQ(own["calls"], 1u);
    CHECK_EQ(own["errors"], 1u);
    CHECK(own["total"] >= 8 * kSecond / 10 && own["least"] == own["total"] && own["most"] == own["total"]);
    CHECK_EQ(program.sum(kAllocate, Table::call_totals, {{"gpu", kOwnerUnknown}})["calls"], 1u);

    for (uint64_t i = 0; i < 2; ++i) {
        const uint32_t kernel = program.string("kernel" + std::to_string(100 + i) + "(int)");
        CHECK_EQ(program.sum(kLaunch, Table::call_totals, {{"kernel", kernel}})["calls"], 3 - i);
    }
    // Two contexts and two kernels: each was asked for once.
    CHECK_EQ(program.lookups, 4);

    // 0.8 s lie between 2^29 ns and 2^30.
    CHECK_EQ(program.sum(kAllocate, Table::call_times)["calls"], 5u);
    CHECK_EQ(program.sum(kAllocate, Table::call_times, {{"log2", 29}, {"gpu", 1}})["calls"], 1u);

    const std::vector<Row> errors = rows(program.file, Table::call_errors);
    CHECK_EQ(errors.size(), 1u);
    CHECK_EQ(program.texts[errors.at(0).at("name")], "CUDA_ERROR_OUT_OF_MEMORY");
    CHECK_EQ(errors.at(0).at("code"), uint64_t{kOutOfMemory});
    CHECK_EQ(errors.at(0).at("calls"), 1u);
    CHECK_EQ(rows(program.file, Table::calls).size(), 0u);
}

// What a call does with calls inside it, beginnings without an end, and ends without a beginning.
void nesting() {
    Program program;
    program.calls.returns(CallTotals::clock(), kCopy, kNames[kCopy], {});
    program.calls.begins(kReset, kContext0, nullptr);
    program.call(kFree, kContext0);
    program.calls.begins(kAllocate, kContext0, nullptr);  // left by a jump
    program.call(kReset, kContext0);                      // one inside another
    program.calls.returns(CallTotals::clock() + kSecond, kReset, kNames[kReset], {});
    program.calls.returns(CallTotals::clock(), kAllocate, kNames[kAllocate], {});
    for (int i = 0; i < 100; ++i) program.calls.begins(kFree, kContext0, nullptr);
    for (int i = 0; i < 100; ++i) program.calls.returns(CallTotals::clock(), kFree, kNames[kFree], {});
    program.end();
    CHECK_EQ(program.sum(kCopy)["calls"], 0u);
    CHECK_EQ(program.sum(kAllocate)["calls"], 0u);
    CHECK_EQ(program.sum(kReset)["calls"], 2u);
    CHECK(program.sum(kReset)["most"] >= kSecond && program.sum(kReset)["least"] < kSecond);
    CHECK_EQ(program.sum(kFree)["calls"], 17u);
}

void directions() {
    CHECK(direction_between(kOwnerHost, 1) == Direction::host_to_device);
    CHECK(direction_between(0, kOwnerHost) == Direction::device_to_host);
    CHECK(direction_between(1, 1) == Direction::device_to_device);
    CHECK(direction_between(0, 1) == Direction::peer);
    CHECK(direction_between(kOwnerHost, kOwnerHost) == Direction::host_to_host);
    for (const uint8_t owner : {kOwnerUnknown, kFirstSet}) CHECK(direction_between(0, owner) == Direction::other);

    Copied batch;
    batch.add(0, 1, 5);
    batch.add(1, 0, 6);
    CHECK(batch.direction == Direction::peer && batch.bytes == 11);
    batch.add(0, 0, 7);
    batch.add(0, 1, 8);
    CHECK(batch.direction == Direction::other && batch.bytes == 26);

    Program program;
    for (const bool failed : {false, true}) {
        CallTotals::will_copy({Direction::host_to_device, 64});
        program.call(kCopy, kContext0, {failed ? kInvalidValue : 0, failed, 0});
    }
    program.call(kCopy, kContext0);  // nothing to copy
    program.end();
    Row own = program.sum(kCopy, Table::call_totals, {{"direction", static_cast<uint64_t>(Direction::host_to_device)}});
    CHECK_EQ(own["calls"], 2u);
    CHECK_EQ(own["errors"], 1u);
    CHECK_EQ(own["bytes"], 64u);
    CHECK_EQ(program.sum(kCopy)["calls"], 3u);
}

// Rows are of the time since those before them.
void deltas() {
    Program program;
    program.call(kFree, kContext0, {}, nullptr, kSecond);
    program.calls.flush();
    program.calls.flush();
    program.call(kFree, kContext0);
    program.call(kFree, kContext0);
    program.call(kFree, kContext0, {kInvalidValue, true, 0});
    program.calls.flush();
    program.end();
    std::vector<Row> found = rows(program.file, Table::call_totals);
    CHECK_EQ(found.size(), 2u);
    CHECK_EQ(found.at(0)["calls"], 1u);
    CHECK_EQ(found.at(1)["calls"], 3u);
    CHECK_EQ(found.at(1)["errors"], 1u);
    CHECK(found.at(0)["least"] >= kSecond && found.at(1)["most"] < kSecond);
    CHECK(found.at(0)["time"] <= found.at(1)["time"]);
    CHECK_EQ(program.sum(kFree, Table::call_times)["calls"], 4u);
    CHECK_EQ(program.sum(kFree, Table::call_errors)["calls"], 1u);
}

// By itself, once a second: a killed program leaves what it had done until then.
void beat() {
    Program program;
    program.call(kFree, kContext0);
    test::await([&] {
        const std::vector<Table> tables = test::tables_on_disk(program.file.path());
        const auto has = [&](Table table) { return std::find(tables.begin(), tables.end(), table) != tables.end(); };
        return has(Table::call_totals) && has(Table::strings);
    });
    program.texts = strings(program.file);
    CHECK_EQ(program.sum(kFree)["calls"], 1u);
    program.end();
}

// The driver is called once more when the thread has destroyed its variables.
struct LastWords {
    Program* program = nullptr;
    ~LastWords() {
        if (program) program->call(kReset, kContext1, {}, handle(7));
    }
};
thread_local LastWords last_words;

void threads() {
    constexpr int kThreads = 8, kCalls = 5000;
    Program program;
    std::vector<std::thread> all;
    for (int t = 0; t < kThreads; ++t)
        all.emplace_back([&program, t] {
            last_words.program = &program;
            for (int i = 0; i < kCalls; ++i) {
                program.call(kLaunch, t % 2 ? kContext1 : kContext0, {}, handle(100));
                if (i % 100 == 0) program.call(kAllocate, kContext0, {0, false, 3});
            }
        });
    for (int i = 0; i < 20; ++i) program.calls.flush();
    for (std::thread& thread : all) thread.join();
    program.end();
    CHECK_EQ(program.sum(kLaunch)["calls"], uint64_t{kThreads * kCalls});
    CHECK_EQ(program.sum(kLaunch, Table::call_totals, {{"gpu", 1}})["calls"], uint64_t{kThreads * kCalls / 2});
    CHECK_EQ(program.sum(kLaunch, Table::call_times)["calls"], uint64_t{kThreads * kCalls});
    CHECK_EQ(program.sum(kAllocate)["bytes"], uint64_t{kThreads * kCalls / 100 * 3});
    CHECK_EQ(program.sum(kReset, Table::call_totals, {{"gpu", 1}, {"kernel", program.string("kernel7(int)")}})["calls"],
             uint64_t{kThreads});
    std::map<uint64_t, uint64_t> by_thread;
    for (Row& row : rows(program.file, Table::call_totals))
        if (program.texts[row["call"]] == kNames[kLaunch]) by_thread[row["thread"]] += row["calls"];
    CHECK_EQ(by_thread.size(), size_t{kThreads});
    for (const auto& [thread, calls] : by_thread) CHECK_EQ(calls, uint64_t{kCalls});
}

// As at the program's exit: sums are written by it and, at the same moment, by the thread that does so each second.
void two_that_write() {
    constexpr int kThreads = 500;
    Program program;
    std::atomic<bool> ended{false};
    std::thread other([&] {
        while (!ended) program.calls.flush();
    });
    for (int i = 0; i < kThreads; ++i) {
        std::thread([&] { program.call(kLaunch, kContext0); }).join();
        program.calls.flush();
    }
    ended = true;
    other.join();
    program.end();
    CHECK_EQ(program.sum(kLaunch)["calls"], uint64_t{kThreads});
}

void contexts_come_and_go() {
    Program program;
    program.call(kFree, kContext0);
    program.first_gpu = 3;
    program.call(kFree, kContext0);
    program.calls.forget();
    program.call(kFree, kContext0);
    program.end();
    CHECK_EQ(program.sum(kFree, Table::call_totals, {{"gpu", 0}})["calls"], 2u);
    CHECK_EQ(program.sum(kFree, Table::call_totals, {{"gpu", 3}})["calls"], 1u);
}

void events() {
    constexpr uint64_t kCalls = 3000;
    Program program(true);
    const auto work = [&program] {
        for (uint64_t i = 0; i < kCalls; ++i) {
            CallTotals::will_copy({Direction::peer, i});
            program.call(kCopy, kContext0, {i % 7 ? 0 : kInvalidValue, i % 7 == 0, 0}, nullptr, 1000);
        }
    };
    std::thread other(work);
    work();
    other.join();
    program.end();
    const std::vector<Row> found = rows(program.file, Table::calls);
    CHECK_EQ(found.size(), 2 * kCalls);
    std::map<uint64_t, uint64_t> next;
    std::map<uint64_t, uint64_t> before;
    bool right = true;
    for (size_t i = 0; i < found.size(); ++i) {
        Row row = found[i];
        const uint64_t place = next[row["thread"]]++;
        right = right && row["id"] == i + 1 && row["direction"] == static_cast<uint64_t>(Direction::peer);
        right = right && row["bytes"] == (place % 7 ? place : 0) && row["code"] == (place % 7 ? 0u : kInvalidValue);
        right = right && row["start"] >= before[row["thread"]] && row["end"] >= row["start"] + 1000;
        before[row["thread"]] = row["start"];
    }
    CHECK(right);
    CHECK_EQ(next.size(), 2u);
    CHECK_EQ(program.sum(kCopy)["calls"], 2 * kCalls);
}

}  // namespace

int main() {
    sums();
    nesting();
    directions();
    deltas();
    beat();
    threads();
    two_that_write();
    contexts_come_and_go();
    events();
    return test::summary("calls");
}
