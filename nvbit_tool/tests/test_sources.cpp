// The text of source files: when they are read and written, and what is left out.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "check.h"
#include "trace/catalog.h"
#include "trace/compiled_sources.h"
#include "trace/sources.h"
#include "trace/trace_writer.h"
#include "trace_file.h"

using namespace snoopie;
using test::Block;
using test::get;
using test::read;
using test::TemporaryFile;

namespace {

CompiledSources none;

class Folder {
  public:
    Folder() { CHECK(mkdtemp(path_) != nullptr); }
    ~Folder() {
        const std::string command = std::string("rm -r ") + path_;
        CHECK_EQ(system(command.c_str()), 0);
    }
    std::string operator/(const std::string& name) const { return std::string(path_) + "/" + name; }
    // A file with this text.
    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(*this / name, std::ios::binary) << text;
        return *this / name;
    }

  private:
    char path_[32] = "/tmp/snoopie-test-XXXXXX";
};

struct Row {
    std::string file;
    std::string text;
    uint32_t same_as;
    uint64_t bytes;
    bool kept;
};

// The columns of a block: id, file, the texts' lengths and bytes, same_as, bytes, kept. The strings are the files' names alone.
std::vector<Row> rows(const std::string& path) {
    std::vector<std::string> names;
    std::vector<Row> all;
    for (const Block& block : read(path)) {
        const uint32_t n = block.rows;
        if (block.table == static_cast<uint32_t>(Table::strings)) {
            size_t at = 8 * n;
            for (uint32_t i = 0; i < n; at += get<uint32_t>(block.content, 4 * (n + i)), ++i)
                names.push_back(block.content.substr(at, get<uint32_t>(block.content, 4 * (n + i))));
        }
        if (block.table != static_cast<uint32_t>(Table::source_files)) continue;
        size_t at = 12 * n;
        size_t behind = at;
        for (uint32_t i = 0; i < n; ++i) behind += get<uint32_t>(block.content, 8 * n + 4 * i);
        for (uint32_t i = 0; i < n; ++i) {
            CHECK_EQ(get<uint32_t>(block.content, 4 * i), all.size() + 1);
            const uint32_t length = get<uint32_t>(block.content, 8 * n + 4 * i);
            all.push_back({names.at(get<uint32_t>(block.content, 4 * (n + i)) - 1), block.content.substr(at, length),
                           get<uint32_t>(block.content, behind + 4 * i), get<uint64_t>(block.content, behind + 4 * n + 8 * i),
                           block.content[behind + 12 * n + i] != 0});
            at += length;
        }
    }
    return all;
}

void temporary_files() {
    const Folder folder;
    const TemporaryFile trace;
    TraceWriter writer(trace.fd(), "{}", {});
    Sources sources(&writer, &none);
    const std::string gone = folder.file("gone.cu", "one\ntwo\n"), changed = folder.file("changed.cu", "then");
    const std::string twin = folder.file("twin.cu", "one\ntwo\n"), unused = folder.file("unused.cu", "unused");
    for (const std::string& file : {gone, changed, twin, unused}) sources.seen(file);
    unlink(gone.c_str());
    folder.file("changed.cu", "now");
    sources.seen(changed);
    for (const std::string& file : {gone, changed, twin, gone}) sources.reached(file);
    writer.finish("{}");
    const std::vector<Row> written = rows(trace.path());
    CHECK_EQ(written.size(), 3u);
    CHECK(written[0].file == gone && written[0].text == "one\ntwo\n" && written[0].bytes == 8 && written[0].kept);
    CHECK(written[1].file == changed && written[1].text == "then");
    CHECK(written[2].file == twin && written[2].text.empty() && written[2].same_as == 1 && written[2].bytes == 8 && written[2].kept);
}

void what_is_no_text() {
    const Folder folder;
    const TemporaryFile trace;
    TraceWriter writer(trace.fd(), "{}", {});
    Sources sources(&writer, &none);
    CHECK_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    const std::string empty = folder.file("empty.cu", ""), binary = folder.file("binary", std::string("a\0b", 3));
    for (const std::string& file : {folder / "missing", folder / "", folder / "pipe", binary, empty}) {
        sources.seen(file);
        sources.reached(file);
    }
    writer.finish("{}");
    const std::vector<Row> written = rows(trace.path());
    CHECK_EQ(written.size(), 5u);
    for (const Row& row : written) CHECK(row.text.empty() && row.bytes == 0 && row.same_as == 0 && row.kept == (row.file == empty));
}

void limits() {
    const Folder folder;
    const TemporaryFile trace;
    TraceWriter writer(trace.fd(), "{}", {});
    Sources sources(&writer, &none, {10, 12, 20});
    const std::string large = folder.file("large", "12345678901"), first = folder.file("first", "1234567890");
    const std::string second = folder.file("second", "abcdefghi"), third = folder.file("third", "ABCDEFGH");
    const std::string fourth = folder.file("fourth", "x"), again = folder.file("again", "1234567890");
    for (const std::string& file : {large, first, second, third, fourth, again}) sources.seen(file);
    // Two texts fill what may wait: of the others none was read, and what is gone is not there when it is wanted.
    unlink(third.c_str());
    for (const std::string& file : {large, first, second, third, fourth, again}) sources.reached(file);
    sources.reached(folder.file("fifth", "yz"));
    writer.finish("{}");
    const std::vector<Row> written = rows(trace.path());
    CHECK_EQ(written.size(), 7u);
    CHECK(!written[0].kept && written[0].bytes == 11 && written[0].text.empty());
    CHECK(written[1].kept && written[2].kept && written[2].text == "abcdefghi");
    CHECK(!written[3].kept && written[3].bytes == 0);
    CHECK(written[4].kept && written[4].text == "x");  // read late; now the trace has 20 bytes
    CHECK(written[5].kept && written[5].same_as == 2);
    CHECK(!written[6].kept && written[6].bytes == 2 && written[6].text.empty());
}

void lines_that_reached() {
    const Folder folder;
    const TemporaryFile trace;
    TraceWriter writer(trace.fd(), "{}", {});
    Sources sources(&writer, &none);
    Catalog catalog(&writer, &sources);
    const std::string header = folder.file("put.h", "h"), kernel = folder.file("put.cu", "k"), local = folder.file("local.cu", "l");
    FunctionDescription put{"p", "p", true, true, {}};
    put.sites.push_back({0x10, "s", "s", Operation::store, 4, true, {{header, 3, "helper"}, {kernel, 9, ""}}});
    put.sites.push_back({0x20, "s", "s", Operation::store, 4, true, {{local, 1, ""}}});
    put.sites.push_back({0x30, "s", "s", Operation::store, 4, true, {}});
    const uint32_t first = catalog.add(put).first_site;
    unlink(header.c_str());
    catalog.reached({});
    catalog.reached({first, first + 2});
    catalog.reached({first});
    writer.finish("{}");
    std::string files;
    for (const Block& block : read(trace.path())) {
        if (block.table != static_cast<uint32_t>(Table::source_files)) continue;
        CHECK_EQ(block.rows, 2u);
        files += block.content.substr(24, 2);  // behind two ids, files and lengths
    }
    CHECK_EQ(files, "hk");
}

void texts_of_a_compiler() {
    const Folder folder;
    const TemporaryFile trace;
    TraceWriter writer(trace.fd(), "{}", {});
    CompiledSources compiled;
    Sources sources(&writer, &compiled, {10, 100, 100});
    const std::string gone = folder / "gone.cu", other = folder.file("other.cu", "a file"), large = folder / "large.cu";
    compiled.keep(gone, "first");
    compiled.keep(other, "ran");
    compiled.keep(large, "12345678901");
    sources.seen(gone);
    compiled.keep(gone, "second");
    for (const std::string& file : {gone, other, large}) sources.reached(file);
    writer.finish("{}");
    const std::vector<Row> written = rows(trace.path());
    CHECK_EQ(written.size(), 3u);
    CHECK(written[0].kept && written[0].text == "first" && written[0].bytes == 5);
    CHECK(written[1].kept && written[1].text == "ran");
    CHECK(!written[2].kept && written[2].text.empty() && written[2].bytes == 11);
}

void the_latest_of_a_name() {
    CompiledSources compiled({2, 10, 15});
    CHECK(!compiled.find("a"));
    compiled.keep("a", "one");
    compiled.keep("a", "two");
    CHECK(compiled.find("a") == "two");
    compiled.keep("a", "");
    CHECK(compiled.find("a") == "");
    // One that is too large is not kept, and neither is the one whose name it takes.
    compiled.keep("a", "12345678901");
    CHECK(!compiled.find("a"));
}

void those_used_last_stay() {
    CompiledSources compiled({3, 10, 15});
    for (const char* name : {"a", "b", "c"}) compiled.keep(name, "123");
    CHECK(compiled.find("a") == "123");
    compiled.keep("d", "456");
    CHECK(!compiled.find("b"));
    compiled.keep("e", "1234567890");
    CHECK(compiled.find("e") && !compiled.find("a") && !compiled.find("c"));
    CHECK(compiled.find("d") == "456");
    compiled.keep("f", "12");
    CHECK(compiled.find("d") && compiled.find("e") && compiled.find("f"));
    // What is replaced takes no room.
    for (int i = 0; i < 4; ++i) compiled.keep("e", "123456789" + std::to_string(i));
    CHECK(compiled.find("d") && compiled.find("f") && compiled.find("e") == "1234567893");
}

}  // namespace

int main() {
    temporary_files();
    what_is_no_text();
    limits();
    lines_that_reached();
    texts_of_a_compiler();
    the_latest_of_a_name();
    those_used_last_stay();
    return test::summary("sources");
}
