// Line tables that nvcc wrote (tests/data; the sources are beside them), one written here by hand, and damaged ones.
#include <elf.h>

#include <cstring>
#include <random>
#include <sstream>
#include <vector>

#include "check.h"
#include "code/line_table.h"
#include "test_data.h"

using namespace snoopie;
using test::read;

namespace {

// The word in the comment at the end of a source line, or its number.
std::string marker(const std::string& file, uint32_t number) {
    std::istringstream source(read(file.substr(file.rfind('/') + 1)));
    std::string line;
    for (uint32_t i = 0; i < number; ++i) std::getline(source, line);
    const size_t comment = line.rfind("// ");
    return comment == std::string::npos ? std::to_string(number) : line.substr(comment + 3);
}

// "put(_Z3putPff) < first": innermost first.
std::string chain(const LineTable& table, const LineTable::Line* line) {
    std::string text = line ? "" : "nothing";
    for (; line; line = table.caller(*line)) {
        text += marker(table.file(*line), line->number);
        if (!table.function(*line).empty()) text += "(" + table.function(*line) + ")";
        if (table.caller(*line)) text += " < ";
    }
    return text;
}

// The chains of a function's instructions in their order, repetitions left out.
std::string chains(const LineTable& table, const std::string& function) {
    std::string text;
    std::string last;
    for (uint64_t offset = 0; table.find(function, offset); offset += 16) {
        const std::string next = chain(table, table.find(function, offset));
        if (next != last) text += next + "\n";
        last = next;
    }
    return text;
}

LineTable parse(const std::string& bytes) {
    std::string why_not;
    std::optional<LineTable> table = LineTable::parse(bytes, &why_not);
    CHECK_EQ(why_not, "");
    CHECK(table.has_value());
    return table ? std::move(*table) : LineTable();
}

std::string why_not(const std::string& bytes) {
    std::string why;
    CHECK(!LineTable::parse(bytes, &why));
    CHECK(!LineTable::parse(bytes, nullptr));
    return why;
}

void test_inlined() {
    const LineTable table = parse(read("inline.sm_90.cubin"));
    CHECK(table.has_lines());
    CHECK(table.has_lines("_Z4ringPfPKfi"));

    const std::string lambda = "lambda(_ZZ4ringPfPKfiENKUliE_clEi) < ";
    const std::string neighbour = "neighbour(_Z9neighbourIZ4ringPfPKfiEUliE_EvS0_iT_) < ring\n";
    CHECK_EQ(chains(table, "_Z4ringPfPKfi"), "4\n5\ntest\n" + lambda + neighbour + neighbour + lambda + neighbour + neighbour + lambda +
                                                 neighbour + "put(_Z3putPff) < " + neighbour + "10\n");
    const LineTable::Line* line = table.find("_Z4ringPfPKfi", 0x50);
    CHECK(line && line == table.find("_Z4ringPfPKfi", 0x80));
    CHECK_EQ(table.file(*line), "/home/u/inline.cu");
    CHECK_EQ(table.file(*table.caller(*line)), "/home/u/inline.h");

    // pair() is in the section of its caller, and begins with rows that have no number.
    CHECK_EQ(chains(table, "_Z5apartPfi"), "apart\n19\nfirst\n12\nput(_Z3putPff) < second\nput(_Z3putPff) < first\n15\n");
    CHECK_EQ(chain(table, table.find("$_Z5apartPfi$_Z4pairPfi", 0)), "first");

    CHECK(!table.find("_Z4ringPfPKfi", 1 << 20));
    CHECK(!table.find("_Z4ringPfPKfi", ~uint64_t{0}));
    CHECK(!table.find("ring", 0));
    CHECK(!table.has_lines("ring"));
}

void test_linked() {
    const std::string put = "put(_Z3putPff) < ";
    const LineTable named = parse(read("linked.sm_80.cubin"));
    CHECK_EQ(chains(named, "_Z6kernelPfi"), "6\nkernel\n" + put + "kernel\n8\nkernel\n" + put + "kernel\n8\n9\n");
    const std::string neighbour = "neighbour(_Z9neighbourIZ3farPfiEUliE_EvS0_iT_) < far\n";
    CHECK_EQ(chains(named, "_Z3farPfi"), "far(_ZZ3farPfiENKUliE_clEi) < " + neighbour + neighbour + put + neighbour + "5\n");
    CHECK(!named.has_lines("_Z7removedPf"));

    // nvlink lost where the names of the second unit begin.
    const LineTable unnamed = parse(read("linked.sm_90.cubin"));
    CHECK_EQ(chains(unnamed, "_Z6kernelPfi"), "6\nkernel\n" + put + "kernel\n8\nkernel\n" + put + "kernel\n8\n9\n");
    CHECK_EQ(chains(unnamed, "_Z3farPfi"), "far\nneighbour < far\nput < neighbour < far\n5\n");
}

// --- A cubin by hand: functions "f" and "g", 0x100 bytes each in one section, and a line program that starts at f ---

template <class T>
void append(std::string* bytes, const T& value) {
    bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

const std::string kAtF("\0\x09\x02\0\0\0\0\0\0\0\0", 11);  // DW_LNE_set_address
const std::string kEnd("\0\x01\x01", 3);

std::string inlined(char context, char name) { return std::string("\0\x03\x90", 3) + context + name; }

// `program` begins with kAtF. Version 4, line_base -3, line_range 12, opcode_base 10.
std::string cubin(const std::string& program, uint64_t addend = 0) {
    std::string header("\x01\x01\x01\xfd\x0c\x0a\0\x01\x01\x01\x01\0\0\0\x01", 15);
    header += std::string("/d\0\0x.cu\0\x01\0\0/y.h\0\x01\0\0\0", 21);
    append(&header, uint32_t{1});  // names begin at 1
    std::string unit;
    append(&unit, uint16_t{4});
    append(&unit, static_cast<uint32_t>(header.size()));
    unit += header + program;
    std::string lines;
    append(&lines, static_cast<uint32_t>(unit.size()));
    lines += unit;

    std::string symbols(sizeof(Elf64_Sym), '\0');
    append(&symbols, Elf64_Sym{1, STT_FUNC, 0, 3, 0, 0x100});
    append(&symbols, Elf64_Sym{3, STT_FUNC, 0, 3, 0x100, 0x100});
    std::string relocations;
    append(&relocations, Elf64_Rela{lines.size() - program.size() + 3, ELF64_R_INFO(1, 2), static_cast<Elf64_Sxword>(addend)});

    std::string names(1, '\0');
    std::vector<Elf64_Shdr> headers(1);
    std::string body;
    const auto add = [&](const std::string& name, uint32_t type, const std::string& bytes, uint32_t link, uint32_t info) {
        headers.push_back(
            {static_cast<uint32_t>(names.size()), type, 0, 0, sizeof(Elf64_Ehdr) + body.size(), bytes.size(), link, info, 1, 0});
        names += name + '\0';
        body += bytes;
    };
    add(".strtab", SHT_STRTAB, std::string("\0f\0g\0", 5), 0, 0);
    add(".symtab", SHT_SYMTAB, symbols, 1, 0);
    add(".text.f", SHT_NOBITS, "", 0, 0);
    add(".debug_line", SHT_PROGBITS, lines, 0, 0);
    add(".debug_str", SHT_PROGBITS, std::string("\0one\0two\0", 9), 0, 0);
    add(".rela.debug_line", SHT_RELA, relocations, 2, 4);
    headers.push_back(
        {static_cast<uint32_t>(names.size()), SHT_STRTAB, 0, 0, sizeof(Elf64_Ehdr) + body.size(), names.size() + 10, 0, 0, 1, 0});
    body += names + std::string(".shstrtab\0", 10);

    Elf64_Ehdr elf{};
    std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_ident[EI_CLASS] = ELFCLASS64;
    elf.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.e_machine = EM_CUDA;
    elf.e_shoff = sizeof elf + body.size();
    elf.e_shentsize = sizeof(Elf64_Shdr);
    elf.e_shnum = static_cast<uint16_t>(headers.size());
    elf.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
    std::string file;
    append(&file, elf);
    file += body;
    for (const Elf64_Shdr& one : headers) append(&file, one);
    return file;
}

std::string at(const LineTable& table, const std::string& function, uint64_t offset) {
    std::string text;
    for (const LineTable::Line* line = table.find(function, offset); line; line = table.caller(*line))
        text += table.file(*line) + ":" + std::to_string(line->number) + "[" + table.function(*line) + "]";
    return text;
}

void test_opcodes() {
    const std::string line_5("\x03\x04\x01", 3);                            // advance_line 4, copy
    const std::string pc_16("\x02\x10", 2);                                 // advance_pc
    const std::string special(1, static_cast<char>(10 + 16 * 12 + 3 + 2));  // 16 bytes, 2 lines, a row
    const std::string row("\x01", 1);

    LineTable table = parse(cubin(kAtF + line_5 + special + "\x04\x02" + pc_16 + row + kEnd));
    CHECK_EQ(at(table, "f", 0), "/d/x.cu:5[]");
    CHECK_EQ(at(table, "f", 15), "/d/x.cu:5[]");
    CHECK_EQ(at(table, "f", 16), "/d/x.cu:7[]");
    CHECK_EQ(at(table, "f", 31), "/d/x.cu:7[]");
    CHECK_EQ(at(table, "f", 32), "");  // the end

    // const_add_pc, fixed_advance_pc, set_column, negate_stmt, an unknown extended opcode, a file that is not in the list, line 0.
    table = parse(cubin(kAtF + line_5 + "\x08\x01\x09" + std::string("\x0c\0", 2) + "\x05\x03\x06" + std::string("\0\x03\x92zz", 5) +
                        "\x04\x07\x03\x7b" + row + pc_16 + kEnd));
    CHECK_EQ(at(table, "f", 19), "/d/x.cu:5[]");
    CHECK_EQ(at(table, "f", 20), "/d/x.cu:5[]");
    CHECK_EQ(at(table, "f", 32), ":0[]");

    // An absolute file keeps its path.
    table = parse(cubin(kAtF + "\x04\x02" + line_5 + pc_16 + kEnd));
    CHECK_EQ(at(table, "f", 0), "/y.h:5[]");

    // A function that begins in the middle of the section.
    table = parse(cubin(kAtF + line_5 + pc_16 + kEnd, 0x100));
    CHECK_EQ(at(table, "f", 0), "");
    CHECK_EQ(at(table, "g", 0), "/d/x.cu:5[]");
    CHECK_EQ(at(table, "g", 16), "");

    // Nothing says whose the second sequence is.
    table = parse(cubin(kAtF + line_5 + pc_16 + kEnd + kAtF + special + pc_16 + kEnd));
    CHECK_EQ(at(table, "f", 0), "/d/x.cu:5[]");
    CHECK_EQ(at(table, "f", 16), "");

    // The caller's row, the same one again, and rows inlined at it; the second one at the first one.
    table =
        parse(cubin(kAtF + line_5 + row + inlined(1, 0) + line_5 + inlined(2, 4) + line_5 + pc_16 + inlined(0, 0) + row + pc_16 + kEnd));
    CHECK_EQ(at(table, "f", 0), "/d/x.cu:13[two]/d/x.cu:9[one]/d/x.cu:5[]");
    CHECK_EQ(at(table, "f", 16), "/d/x.cu:13[]");

    // Contexts that do not exist: the row itself, a later one. Names that do not exist: in the middle of one, beyond the end.
    table = parse(cubin(kAtF + inlined(1, 0) + line_5 + pc_16 + inlined(9, 0) + row + pc_16 + kEnd));
    CHECK_EQ(at(table, "f", 0), "/d/x.cu:5[]");
    CHECK_EQ(at(table, "f", 16), "/d/x.cu:5[]");
    table = parse(cubin(kAtF + line_5 + inlined(1, 1) + row + pc_16 + inlined(1, 99) + row + pc_16 + kEnd));
    CHECK_EQ(at(table, "f", 0), "/d/x.cu:5[]/d/x.cu:5[]");
    CHECK_EQ(at(table, "f", 16), "/d/x.cu:5[]/d/x.cu:5[]");
}

void test_refused() {
    CHECK_EQ(why_not(""), "it is not an ELF file");
    CHECK_EQ(why_not("hello"), "it is not an ELF file");
    const std::string good = read("inline.sm_90.cubin");
    std::string other = good;
    other[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
    CHECK_EQ(why_not(other), "it is not a 64-bit ELF file for CUDA");
    std::string newer = cubin(kAtF + kEnd);
    newer[sizeof(Elf64_Ehdr) + 5 + 3 * sizeof(Elf64_Sym) + 4] = 5;
    CHECK_EQ(why_not(newer), "its .debug_line section is damaged or of an unknown version");
    CHECK_EQ(why_not(cubin(kAtF + std::string("\0\x7f\x01", 3))), "its .debug_line section is cut off");

    std::string without = good;
    for (size_t i = without.find(".debug_line"); i != std::string::npos; i = without.find(".debug_line", i)) without[i] = '_';
    const LineTable none = parse(without);
    CHECK(!none.has_lines());
    CHECK(!none.has_lines("_Z4ringPfPKfi"));
    CHECK(!none.find("_Z4ringPfPKfi", 0));
}

// Whatever comes out can be used.
void use(const std::string& bytes) {
    std::string why;
    const std::optional<LineTable> table = LineTable::parse(bytes, &why);
    test::check(table ? why.empty() : !why.empty(), "a reason if and only if there is no table", __FILE__, __LINE__);
    if (!table) return;
    size_t length = 0;
    for (const char* function : {"_Z4ringPfPKfi", "_Z5apartPfi", "_Z6kernelPfi", "_Z3farPfi", "f", "g"})
        for (uint64_t offset = 0; offset < 0x200; offset += 16)
            for (const LineTable::Line* line = table->find(function, offset); line; line = table->caller(*line))
                length += table->file(*line).size() + table->function(*line).size() + line->number;
    volatile size_t used = length;
    (void)used;
}

void test_damaged() {
    std::mt19937 random(1);
    const std::string by_hand = cubin(kAtF + "\x03\x04\x01" + inlined(1, 0) + "\x08\x01\x02\x10" + inlined(1, 4) + "\xd0" + kEnd);
    for (const std::string& good : {read("inline.sm_90.cubin"), read("linked.sm_80.cubin"), by_hand}) {
        for (size_t size = 0; size < good.size(); ++size) use(good.substr(0, size));

        Elf64_Ehdr elf;
        std::memcpy(&elf, good.data(), sizeof elf);
        const auto section = [&](size_t index) {
            Elf64_Shdr found;
            std::memcpy(&found, good.data() + elf.e_shoff + index * sizeof found, sizeof found);
            return found;
        };
        const auto is_lines = [&](size_t index) {
            return good.compare(section(elf.e_shstrndx).sh_offset + section(index).sh_name, 12, ".debug_line\0", 12) == 0;
        };
        size_t index = 1;
        while (!is_lines(index)) ++index;
        const Elf64_Shdr lines = section(index);
        const size_t place = elf.e_shoff + index * sizeof lines;
        for (uint64_t size = 0; size < lines.sh_size; ++size) {
            std::string bytes = good;
            std::memcpy(bytes.data() + place + offsetof(Elf64_Shdr, sh_size), &size, sizeof size);
            use(bytes);
        }
        for (int i = 0; i < 20000; ++i) {
            std::string bytes = good;
            for (unsigned flips = random() % 4; flips < 4; ++flips) {
                const size_t byte = i % 2 ? random() % bytes.size() : lines.sh_offset + random() % lines.sh_size;
                bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << random() % 8));
            }
            use(bytes);
        }
    }
}

}  // namespace

int main() {
    test_inlined();
    test_linked();
    test_opcodes();
    test_refused();
    test_damaged();
    return test::summary("line_table");
}
