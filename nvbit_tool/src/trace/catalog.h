// The static side of a trace: functions, their sites, source lines. A function that is loaded on several GPUs is one function with one set
// of site ids, whichever GPU came first.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "trace/owners.h"
#include "trace/sources.h"
#include "trace/trace_writer.h"

namespace snoopie {

// A line and, outward, the lines it was inlined at.
struct CodeLine {
    std::string file;
    uint32_t line = 0;
    std::string function;  // inlined function that the line belongs to, "" for the outermost
};
using LineChain = std::vector<CodeLine>;  // innermost first; empty = unknown

struct SiteDescription {
    uint32_t offset = 0;
    std::string sass;
    std::string opcode;
    Operation operation = Operation::load;
    uint8_t width = 0;
    bool measured = false;
    LineChain lines;
    bool polls = false;  // it is the load of a polling loop
};

struct FunctionDescription {
    std::string name;
    std::string mangled;
    bool kernel = false;
    bool has_lines = false;
    std::vector<SiteDescription> sites;
};

class Catalog {
  public:
    // `sources`: keeps the text of the files that lines are in; null = nobody does.
    explicit Catalog(TraceWriter* writer, Sources* sources = nullptr) : writer_(writer), sources_(sources) {}

    struct Entry {
        uint32_t function = 0;
        uint32_t first_site = 0;  // 0 = it has none
        uint32_t sites = 0;
    };

    Entry add(const FunctionDescription& function);

    // Instructions that have reached other memory.
    void reached(const std::vector<uint32_t>& sites);

    uint64_t unmeasured_sites() const;
    // What people call a site: "ring.cu:9", "store.h:7, inlined at ring.cu:9", or its function where the line is not known; and the
    // instruction.
    struct Name {
        std::string place;
        std::string instruction;
    };
    Name name(uint32_t site) const;
    bool writes(uint32_t site) const;
    bool polls(uint32_t site) const;

    // full_units of a site's word; 0 of one that is not known.
    uint32_t full_units(uint32_t site) const;

  private:
    // A line that was written.
    struct Line {
        std::string file;
        uint32_t number = 0;
        uint32_t inlined_at = 0;
        bool reached = false;
    };

    uint32_t line_id(const LineChain& chain);

    TraceWriter* const writer_;
    Sources* const sources_;
    mutable std::mutex mutex_;
    std::unordered_map<std::string, Entry> functions_;  // by mangled name and code
    std::map<std::tuple<std::string, uint32_t, std::string, uint32_t>, uint32_t> lines_;
    std::vector<Line> known_lines_;     // 1, 2, …
    std::vector<uint32_t> site_lines_;  // of site 1, 2, …
    std::vector<uint8_t> full_units_;   // likewise
    struct Known {
        uint32_t function = 0;
        std::string instruction;
        Operation operation = Operation::load;
        bool polls = false;
    };
    std::vector<Known> known_sites_;           // likewise
    std::vector<std::string> function_names_;  // 1, 2, …
    uint64_t unmeasured_ = 0;
};

}  // namespace snoopie
