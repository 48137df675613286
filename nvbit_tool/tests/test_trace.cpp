// The trace writer and what feeds it: blocks, references, errors; JSON; the catalog; NCCL calls.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "check.h"
#include "libraries/collective_writer.h"
#include "trace/catalog.h"
#include "trace/crc32.h"
#include "trace/json.h"
#include "trace/trace_header.h"
#include "trace/trace_writer.h"
#include "trace_file.h"

using namespace snoopie;
using test::await;
using test::Block;
using test::get;
using test::read;
using test::tables_on_disk;
using test::TemporaryFile;

namespace {

void crc() { CHECK_EQ(crc32("123456789", 9), 0xCBF43926u); }

void json() {
    CHECK_EQ(json_quote("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
    CHECK_EQ(json_quote("\xC3\xA9\xFF\xE2\x82\xAC\xED\xA0\x80"),
             "\"\xC3\xA9\xEF\xBF\xBD\xE2\x82\xAC\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    JsonWriter writer;
    writer.begin_object().member("n", 1).key("a").begin_array().value("x").value(true).begin_object().end_object().end_array().end_object();
    CHECK_EQ(writer.text(), "{\"n\":1,\"a\":[\"x\",true,{}]}");
}

void rows_and_order() {
    const TemporaryFile file;
    {
        TraceWriter writer(file.fd(), "{\"header\":1}", {});
        CHECK_EQ(writer.intern(""), 0u);
        CHECK_EQ(writer.intern("one"), 1u);
        CHECK_EQ(writer.intern("two"), 2u);
        CHECK_EQ(writer.intern("one"), 1u);
        writer.append(CountRow{1, 2, 1, 10, 320, 40});
        writer.append(CountRow{3, 4, 0, 11, 321, 41});
        writer.set_dropped(17);
        writer.finish("{\"footer\":1}");
        writer.append(CountRow{});  // after the end: nothing
        CHECK_EQ(writer.error(), "");
    }
    const std::vector<Block> blocks = read(file.path());
    CHECK_EQ(blocks.size(), 4u);
    CHECK_EQ(blocks.front().content, "{\"header\":1}");
    CHECK_EQ(blocks.back().content, "{\"footer\":1}");
    CHECK_EQ(blocks.back().dropped, 17u);
    CHECK_EQ(blocks[1].table, static_cast<uint32_t>(Table::strings));
    CHECK_EQ(blocks[1].rows, 2u);
    CHECK_EQ(blocks[1].content, std::string("\1\0\0\0\2\0\0\0\3\0\0\0\3\0\0\0onetwo", 22));
    const Block& counts = blocks[2];
    CHECK_EQ(counts.rows, 2u);
    CHECK_EQ(counts.raw_size, 2u * (4 + 4 + 1 + 3 * 8 + 4));
    CHECK_EQ(get<uint32_t>(counts.content, 4), 3u);    // launch of the second row
    CHECK_EQ(counts.content[16], 1);                   // owner of the first
    CHECK_EQ(get<uint64_t>(counts.content, 18), 10u);  // accesses of the first
}

void many_threads_and_blocks() {
    const TemporaryFile file;
    constexpr uint32_t kRows = 40000;
    {
        TraceWriter writer(file.fd(), "{}", {});
        std::vector<std::thread> threads;
        for (uint32_t t = 0; t < 4; ++t)
            threads.emplace_back([&writer, t] {
                for (uint32_t i = 0; i < kRows; ++i) {
                    const uint32_t name = writer.intern("string " + std::to_string(t) + " " + std::to_string(i % 1000));
                    FunctionRow row;
                    row.id = name;
                    row.name = name;
                    writer.append(row);
                }
            });
        for (std::thread& thread : threads) thread.join();
        writer.finish("{}");
    }
    uint64_t strings = 0;
    uint64_t functions = 0;
    for (const Block& block : read(file.path())) {
        CHECK(block.raw_size < TraceWriter::kBlockBytes + 4096);
        if (block.table == static_cast<uint32_t>(Table::strings)) strings += block.rows;
        if (block.table != static_cast<uint32_t>(Table::functions)) continue;
        functions += block.rows;
        // A row's string stands in an earlier block.
        for (uint32_t row = 0; row < block.rows; ++row) CHECK(get<uint32_t>(block.content, 4 * row) <= strings);
    }
    CHECK_EQ(strings, 4000u);
    CHECK_EQ(functions, 4u * kRows);
}

off_t size_of(const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

void on_disk_by_itself() {
    const TemporaryFile file;
    TraceWriter writer(file.fd(), "{}", {});
    await([&] { return size_of(file.path()) > 0; });
    const off_t header = size_of(file.path());
    writer.append(CountRow{1, 1, 0, 1, 1, 1});
    await([&] { return size_of(file.path()) > header; });
    CHECK_EQ(read(file.path()).size(), 2u);
    writer.finish("{}");
}

void killed() {
    const TemporaryFile file;
    if (const pid_t child = fork(); child == 0) {
        TraceWriter writer(file.fd(), "{}", {});
        for (uint32_t i = 0;; ++i) {
            writer.append(RecordRow{1, i, i, i, 0});
            writer.wait_for_room();
        }
    } else {
        await([&] { return size_of(file.path()) > 0; });
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    // Whole blocks, then perhaps a cut one, which is not looked at here; the Python reader's tests do.
    CHECK(size_of(file.path()) > 0);
}

// Rows that follow a footer take its place; whenever the process ends, the file ends with one.
void whole_from_the_checkpoint() {
    const TemporaryFile file;
    TraceWriter writer(file.fd(), "{}", {});
    writer.append(CountRow{1, 1, 0, 1, 1, 1});
    writer.checkpoint("{\"footer\":1}");
    CHECK_EQ(read(file.path()).size(), 3u);
    CHECK_EQ(read(file.path()).back().content, "{\"footer\":1}");

    writer.append(FreeRow{1, 2});
    await([&] { return tables_on_disk(file.path()).size() == 4; });
    CHECK_EQ(read(file.path()).size(), 4u);
    CHECK_EQ(read(file.path())[2].table, static_cast<uint32_t>(Table::frees));
    CHECK_EQ(read(file.path()).back().content, "{\"footer\":1}");

    writer.checkpoint("{\"footer\":2}");
    CHECK_EQ(read(file.path()).size(), 4u);
    writer.append(FreeRow{2, 2});
    writer.finish("{\"footer\":\"a longer one\"}");
    CHECK_EQ(writer.error(), "");
    const std::vector<Block> blocks = read(file.path());
    CHECK_EQ(blocks.size(), 5u);
    CHECK_EQ(blocks[3].table, static_cast<uint32_t>(Table::frees));
    CHECK_EQ(blocks.back().content, "{\"footer\":\"a longer one\"}");
}

// A child that was forked, and says twice at its end that the file is not its own.
void forked() {
    const TemporaryFile file;
    TraceWriter writer(file.fd(), "{}", {});
    writer.append(CountRow{1, 1, 0, 1, 1, 1});
    if (const pid_t child = fork(); child == 0) {
        writer.abandon();
        const int other = open("/dev/null", O_RDONLY);  // gets the descriptor that is free now
        writer.abandon();
        writer.append(CountRow{2, 1, 0, 1, 1, 1});
        writer.finish("{\"child\":1}");
        _exit(fcntl(other, F_GETFD) < 0 ? 1 : 0);
    } else {
        int status = 1;
        waitpid(child, &status, 0);
        CHECK_EQ(status, 0);
    }
    writer.finish("{\"parent\":1}");
    const std::vector<Block> blocks = read(file.path());
    CHECK_EQ(blocks.size(), 3u);
    CHECK_EQ(blocks[1].rows, 1u);
    CHECK_EQ(blocks.back().content, "{\"parent\":1}");
}

void full_disk() {
    const int fd = open("/dev/full", O_WRONLY);
    TraceWriter writer(fd, "{}", {});
    for (uint32_t i = 0; i < 100000; ++i) writer.append(CountRow{i, 1, 0, 1, 1, 1});
    writer.wait_for_room();
    writer.finish("{}");
    CHECK_EQ(writer.error().find(std::strerror(ENOSPC)), 0u);
}

// A limit of the file's size is an error, not the death of the application by SIGXFSZ; whole blocks stay.
void file_size_limit() {
    const TemporaryFile file;
    if (const pid_t child = fork(); child == 0) {
        const rlimit limit{200000, 200000};
        setrlimit(RLIMIT_FSIZE, &limit);
        TraceWriter writer(file.fd(), "{}", {});
        uint64_t noise = 1;
        for (uint32_t i = 0; i < 100000; ++i) {
            noise = noise * 6364136223846793005ull + 1442695040888963407ull;
            writer.append(RecordRow{i, noise >> 13, i, noise >> 40, 0});
        }
        writer.finish("{}");
        _exit(writer.error().empty() ? 1 : 0);
    } else {
        int status = 1;
        waitpid(child, &status, 0);
        CHECK_EQ(status, 0);
    }
    CHECK(!read(file.path()).empty());
}

void catalog() {
    const TemporaryFile file;
    TraceWriter writer(file.fd(), "{}", {});
    Catalog catalog(&writer);
    FunctionDescription put{"put(float*)", "_Z3putPf", true, true, {}};
    const LineChain chain = {{"a.h", 3, "helper"}, {"a.cu", 9, ""}};
    put.sites.push_back({0x10, "STG.E", "STG.E", Operation::store, 4, true, chain});
    put.sites.push_back({0x20, "STG.E", "STG.E", Operation::store, 4, true, {{"a.cu", 9, ""}}});
    put.sites.push_back({0x30, "UBLKCP", "UBLKCP", Operation::load, 0, false, {}});
    const FunctionDescription nothing{"nothing()", "_Z7nothingv", true, true, {}};
    const Catalog::Entry first = catalog.add(put);
    const Catalog::Entry second = catalog.add(nothing);
    const Catalog::Entry again = catalog.add(put);  // on another GPU
    FunctionDescription other = put;                // another module's function of that name
    other.sites[0].offset = 0x18;
    const Catalog::Entry third = catalog.add(other);
    CHECK(third.function != first.function);
    CHECK_EQ(again.function, first.function);
    CHECK_EQ(again.first_site, first.first_site);
    CHECK_EQ(first.sites, 3u);
    CHECK_EQ(second.first_site, 0u);
    CHECK_EQ(third.first_site, 4u);
    CHECK_EQ(catalog.unmeasured_sites(), 2u);
    CHECK(catalog.full_units(first.first_site) == 8 && catalog.full_units(third.first_site + 2) == 1);
    CHECK(catalog.full_units(0) == 0 && catalog.full_units(7) == 0);  // no sites
    writer.finish("{}");
    uint32_t lines = 0;
    for (const Block& block : read(file.path())) {
        if (block.table == static_cast<uint32_t>(Table::lines)) lines += block.rows;
        if (block.table != static_cast<uint32_t>(Table::sites)) continue;
        CHECK_EQ(block.rows, 6u);
        // The last column: stores and an instruction that is not measured, twice.
        CHECK(block.content.substr(block.content.size() - 6) == "\x10\x10\x20\x10\x10\x20");
    }
    CHECK_EQ(lines, 2u);  // a.cu:9, and a.h:3 inlined there
}

void collectives() {
    const TemporaryFile file;
    TraceWriter writer(file.fd(), "{}", {});
    Ranges ranges;
    Wanted wanted;
    Window window(Options{}, 0, &wanted, &ranges);
    CollectiveWriter sink(&writer, &window);
    Collective call;
    call.operation = "AllReduce";
    call.type = 7;
    call.count = 10;
    call.reduction = 0;
    sink.collectives({call, call});
    if (const pid_t child = fork(); child == 0) {
        sink.collectives({call});  // not its trace, and no thread to write it
        _exit(0);
    } else {
        waitpid(child, nullptr, 0);
    }
    sink.collectives({call});
    writer.finish("{}");
    const std::vector<Block> blocks = read(file.path());
    CHECK_EQ(blocks.size(), 4u);
    CHECK(blocks[1].content.find("AllReducesumfloat32") != std::string::npos);
    CHECK_EQ(blocks[2].table, static_cast<uint32_t>(Table::collectives));
    CHECK_EQ(blocks[2].rows, 3u);
    for (uint32_t row = 0; row < 3; ++row) CHECK_EQ(get<uint32_t>(blocks[2].content, 4 * row), row + 1);
}

}  // namespace

int main() {
    crc();
    json();
    rows_and_order();
    many_threads_and_blocks();
    on_disk_by_itself();
    killed();
    whole_from_the_checkpoint();
    forked();
    full_disk();
    file_size_limit();
    catalog();
    collectives();
    return test::summary("trace");
}
