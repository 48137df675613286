// From an instruction to its source line, and outward through the inlined calls to the line in the function itself. Read from the
// .debug_line section of a cubin, which nvcc writes with -lineinfo or -G.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace snoopie {

class LineTable {
  public:
    struct Line {
        uint32_t number = 0;  // from 1; 0 = code that the compiler made
        uint32_t file = 0;
        uint32_t function = 0;
        uint32_t inlined_at = 0;
    };

    LineTable() = default;

    // None if the cubin is damaged or of a kind that is not known; *why_not then says why, in a clause. A cubin without line tables is a
    // LineTable without lines.
    static std::optional<LineTable> parse(std::string_view bytes, std::string* why_not);

    bool has_lines() const { return !rows_.empty(); }
    bool has_lines(std::string_view function) const;

    // The innermost line of the instruction at `offset` in the function with this mangled name, nullptr if unknown. Two instructions have
    // the same Line if and only if they have the same chain.
    const Line* find(std::string_view function, uint64_t offset) const;
    // The line that this one was inlined at, nullptr for the line in the function itself.
    const Line* caller(const Line& line) const { return line.inlined_at ? &lines_[line.inlined_at] : nullptr; }

    // As the compiler recorded it, with its directory.
    const std::string& file(const Line& line) const { return strings_[line.file]; }
    // Mangled name of the inlined function that the line belongs to; "" for a line that was not inlined, and where it is unknown. Where
    // several functions are inlined at one line, ptxas may record a neighbour's name.
    const std::string& function(const Line& line) const { return strings_[line.function]; }

  private:
    class Builder;
    struct Row {
        uint64_t address;  // in its section; the row is valid to the next one
        uint32_t line;     // 0: no code from here
    };
    struct Function {
        uint32_t section;
        uint64_t start;
        uint64_t size;
    };

    std::vector<std::string> strings_ = {""};
    std::vector<Line> lines_ = {Line{}};
    std::unordered_map<uint32_t, std::vector<Row>> rows_;  // of each section, by address
    std::map<std::string, Function, std::less<>> functions_;
};

}  // namespace snoopie
