#include "code/cubin.h"

#include <elf.h>

namespace snoopie {

std::optional<Cubin> Cubin::parse(std::string_view bytes, std::string* why_not) {
    const auto fail = [why_not](const char* why) {
        if (why_not) *why_not = why;
        return std::nullopt;
    };
    const auto header = Reader(bytes).read<Elf64_Ehdr>();
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return fail("it is not an ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_CUDA)
        return fail("it is not a 64-bit ELF file for CUDA");
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum)
        return fail("its section table is of an unknown kind");

    std::vector<Elf64_Shdr> headers;
    Reader table(bytes, header.e_shoff);
    while (headers.size() < header.e_shnum) headers.push_back(table.read<Elf64_Shdr>());
    if (!table.ok()) return fail("its section table is cut off");
    Cubin cubin;
    for (const Elf64_Shdr& section : headers) {
        const bool empty = section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS;
        Reader content(bytes, empty ? 0 : section.sh_offset);
        cubin.sections_.push_back({"", section.sh_type, section.sh_info, content.take(empty ? 0 : section.sh_size).rest()});
        if (!content.ok()) return fail("a section lies outside the file");
    }
    for (size_t i = 0; i < headers.size(); ++i) {
        Section& section = cubin.sections_[i];
        section.name = Reader(cubin.sections_[header.e_shstrndx].bytes, headers[i].sh_name).text();
        if (section.type != SHT_SYMTAB) continue;
        if (headers[i].sh_link >= headers.size()) return fail("its symbols have no names");
        const std::string_view names = cubin.sections_[headers[i].sh_link].bytes;
        for (Reader entries(section.bytes); !entries.at_end();) {
            const auto symbol = entries.read<Elf64_Sym>();
            const uint32_t defined_in = symbol.st_shndx < headers.size() ? symbol.st_shndx : SHN_UNDEF;  // others are absolute, common, …
            cubin.symbols_.push_back({Reader(names, symbol.st_name).text(), ELF64_ST_TYPE(symbol.st_info) == STT_FUNC, defined_in,
                                      symbol.st_value, symbol.st_size});
            if (!entries.ok()) return fail("its symbol table is cut off");
        }
    }
    return cubin;
}

std::string_view Cubin::bytes(std::string_view section) const {
    for (const Section& one : sections_)
        if (one.name == section) return one.bytes;
    return {};
}

std::vector<std::pair<std::string_view, std::string_view>> Cubin::sections(std::string_view prefix) const {
    std::vector<std::pair<std::string_view, std::string_view>> found;
    for (const Section& one : sections_)
        if (one.name.substr(0, prefix.size()) == prefix) found.emplace_back(one.name.substr(prefix.size()), one.bytes);
    return found;
}

Cubin::Targets Cubin::relocations(std::string_view section) const {
    Targets targets;
    for (const Section& table : sections_) {
        const bool has_addends = table.type == SHT_RELA;
        if ((!has_addends && table.type != SHT_REL) || table.info >= sections_.size() || sections_[table.info].name != section) continue;
        for (Reader entries(table.bytes); !entries.at_end();) {
            const auto entry = entries.read<Elf64_Rel>();
            Reader place(sections_[table.info].bytes, entry.r_offset);  // holds the addend if the entry does not
            const auto addend = (has_addends ? entries : place).read<uint64_t>();
            if (ELF64_R_SYM(entry.r_info) >= symbols_.size()) continue;
            const Symbol& symbol = symbols_[ELF64_R_SYM(entry.r_info)];
            targets[entry.r_offset] = {symbol.section, symbol.address + addend};
        }
    }
    return targets;
}

std::vector<Cubin::Reference> Cubin::references() const {
    std::vector<Reference> found;
    for (const Section& table : sections_) {
        const bool has_addends = table.type == SHT_RELA;
        if ((!has_addends && table.type != SHT_REL) || table.info >= sections_.size()) continue;
        for (Reader entries(table.bytes); !entries.at_end();) {
            const auto entry = entries.read<Elf64_Rel>();
            if (has_addends) entries.read<uint64_t>();
            if (!entries.ok() || ELF64_R_SYM(entry.r_info) >= symbols_.size()) continue;
            const Symbol& symbol = symbols_[ELF64_R_SYM(entry.r_info)];
            found.push_back({sections_[table.info].name, entry.r_offset, symbol.name, symbol.is_function});
        }
    }
    return found;
}

std::vector<std::pair<std::string_view, std::string_view>> Cubin::calls() const {
    // The section is a list of pairs in parts, each behind a pair that names it.
    constexpr uint32_t kCalled = 0xffffffff;
    constexpr uint32_t kTaken = 0xfffffffc;
    constexpr uint32_t kFirstPart = 0xfffffff0;
    std::vector<std::pair<std::string_view, std::string_view>> found;
    uint32_t part = 0;
    for (Reader pairs(bytes(".nv.callgraph")); !pairs.at_end();) {
        const auto caller = pairs.read<uint32_t>();
        const auto callee = pairs.read<uint32_t>();
        if (!pairs.ok()) break;
        if (callee >= kFirstPart) {
            part = callee;
        } else if ((part == kCalled || part == kTaken) && caller < symbols_.size() && callee < symbols_.size()) {
            found.emplace_back(symbols_[caller].name, symbols_[callee].name);
        }
    }
    return found;
}

}  // namespace snoopie
