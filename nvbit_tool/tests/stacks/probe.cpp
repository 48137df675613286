// Lets a program in any language, one with an interpreter above all, ask for its stack:  begin(FILE), capture(), …, end()
// Its own functions stay in the stacks, as those of a library that calls the driver would.
#include <cstdint>
#include <cstdio>
#include <memory>

#include "settings/output_path.h"
#include "stacks/stack_table.h"
#include "trace/trace_header.h"
#include "trace/trace_writer.h"

using namespace snoopie;

namespace {

std::unique_ptr<TraceWriter> writer;
std::unique_ptr<StackTable> table;

}  // namespace

extern "C" {

int begin(const char* path) {
    std::string why;
    OutputFile file{path, false};
    const int fd = create_output(&file, &why);
    if (fd < 0) return -1;
    writer = std::make_unique<TraceWriter>(fd, header_json({}, Options{}, path, this_process(""), {}, {}), TraceWriter::Settings{});
    table = std::make_unique<StackTable>(writer.get(), nullptr, [](const std::string& text) { writer->append(NoticeRow{0, text}); });
    return 0;
}

uint32_t capture() {
    const uint32_t stack = table->here();
    asm volatile("");  // no tail call
    return stack;
}

// With functions between that are not Python's.
uint32_t capture_through(uint32_t (*callback)()) {
    const uint32_t stack = callback();
    asm volatile("");
    return stack;
}

int end() {
    table->write_symbols(std::chrono::seconds(60), nullptr);
    writer->finish(footer_json(0, 0, Totals{}));
    return writer->error().empty() ? 0 : -1;
}
}
