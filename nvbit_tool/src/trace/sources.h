// The text of source files, for a reader who does not have them.
//
// A file is read when code that names it is first seen, because it may be a temporary one, of a compiler at run time, that is soon gone.
// What such a compiler was handed under the name comes first: it is what ran, whatever a file of that name holds. A text is written when a
// line of it has reached other memory; until then it waits in memory, and with it no more than `waiting` bytes of texts: what comes beyond
// that is read when it is to be written, if it is still there.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "trace/compiled_sources.h"
#include "trace/trace_writer.h"

namespace snoopie {

// Safe to call from any thread.
class Sources {
  public:
    struct Limits {
        size_t file = 1 << 20;      // bytes of a text that is kept
        size_t waiting = 32 << 20;  // of all that wait
        size_t written = 32 << 20;  // of all in the trace
    };

    Sources(TraceWriter* writer, CompiledSources* compiled) : Sources(writer, compiled, Limits()) {}
    Sources(TraceWriter* writer, CompiledSources* compiled, Limits limits) : writer_(writer), compiled_(compiled), limits_(limits) {}

    // Code names the file.
    void seen(const std::string& file);
    // A line of it, which was seen, has reached other memory.
    void reached(const std::string& file);

  private:
    struct Text {
        std::optional<std::string> text;  // none if it was not read
        uint64_t bytes = 0;               // of the file, 0 if it is no text that can be read
        bool written = false;
    };

    Text read(const std::string& file) const;

    TraceWriter* const writer_;
    CompiledSources* const compiled_;
    const Limits limits_;
    std::mutex mutex_;
    std::unordered_map<std::string, Text> files_;
    std::map<std::pair<size_t, size_t>, uint32_t> rows_;  // by hash and size of the text
    uint32_t last_row_ = 0;
    size_t waiting_ = 0;
    size_t written_ = 0;
};

}  // namespace snoopie
