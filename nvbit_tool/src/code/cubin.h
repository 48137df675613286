// The few parts of a cubin, a 64-bit little-endian ELF file, that are needed here: sections, symbols, relocations. The file is
// untrusted: every read is checked. Nothing is copied: the views live as long as the bytes that were parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/reader.h"

namespace snoopie {

class Cubin {
  public:
    struct Symbol {
        std::string_view name;
        bool is_function = false;
        uint32_t section = 0;  // 0: not defined here
        uint64_t address = 0;  // in the section
        uint64_t size = 0;
    };
    using Targets = std::unordered_map<uint64_t, std::pair<uint32_t, uint64_t>>;

    // None if `bytes` is not a cubin or is damaged; *why_not then says why, in a clause.
    static std::optional<Cubin> parse(std::string_view bytes, std::string* why_not);

    // Of the section with this name; empty if there is none.
    std::string_view bytes(std::string_view section) const;
    // The rest of the name and the bytes of each section whose name begins so.
    std::vector<std::pair<std::string_view, std::string_view>> sections(std::string_view prefix) const;
    // What its relocated places point to: offset → section and address there.
    Targets relocations(std::string_view section) const;
    const std::vector<Symbol>& symbols() const { return symbols_; }

    // A place in a section that the linker of the driver fills in with a symbol's address.
    struct Reference {
        std::string_view section;
        uint64_t offset = 0;
        std::string_view symbol;
        bool function = false;
    };
    std::vector<Reference> references() const;

    // Caller and callee: functions that are called by name, and those whose address is taken.
    std::vector<std::pair<std::string_view, std::string_view>> calls() const;

  private:
    struct Section {
        std::string_view name;
        uint32_t type = 0;
        uint32_t info = 0;
        std::string_view bytes;
    };

    std::vector<Section> sections_;
    std::vector<Symbol> symbols_;
};

}  // namespace snoopie
