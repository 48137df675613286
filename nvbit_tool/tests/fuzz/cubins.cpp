// Cubins: sections, symbols, line tables, the tables of parameters, and who calls and launches whom.
#include <cstring>
#include <string>

#include "code/branch_targets.h"
#include "code/cubin.h"
#include "code/device_launches.h"
#include "code/line_table.h"
#include "code/nccl_kernels.h"
#include "code/parameters.h"
#include "code/recursion.h"
#include "target.h"

using namespace snoopie;

namespace {

bool within(std::string_view part, std::string_view whole) {
    return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

FUZZ_TARGET(cubin) {
    std::string why;
    const std::optional<Cubin> cubin = Cubin::parse(input, &why);
    fuzz::require(cubin.has_value() == why.empty(), "a cubin is refused if and only if there is a reason");
    if (!cubin) return;
    for (const Cubin::Symbol& symbol : cubin->symbols()) fuzz::require(within(symbol.name, input), "names are in the file");
    for (const auto& [name, bytes] : cubin->sections("")) {
        fuzz::require(within(name, input) && within(bytes, input), "sections are in the file");
        cubin->bytes(name);
    }
    for (const Cubin::Reference& reference : cubin->references())
        fuzz::require(within(reference.symbol, input) && within(reference.section, input), "references are in the file");
    cubin->calls();
    for (const char* section : {".debug_line", ".text.", ".nv.global.init"}) cubin->relocations(section);
    recursive_functions(*cubin);
}

FUZZ_TARGET(launch_tables) {
    const std::optional<Cubin> cubin = Cubin::parse(input, nullptr);
    if (!cubin) return;
    branch_targets_of(*cubin);
    for (const auto& [_, parameters] : parameters_of(*cubin))
        for (const KernelParameters::One& one : parameters.list)
            fuzz::require(one.offset + one.bytes <= parameters.area.bytes, "parameters are within their area");
    DeviceLaunches::find(*cubin);
}

FUZZ_TARGET(line_table) {
    std::string why;
    const std::optional<LineTable> table = LineTable::parse(input, &why);
    fuzz::require(table.has_value() == why.empty(), "a table is refused if and only if there is a reason");
    const std::optional<Cubin> cubin = Cubin::parse(input, nullptr);
    fuzz::require(!table || cubin, "what is no cubin has no table");
    if (!table) return;
    for (const Cubin::Symbol& symbol : cubin->symbols()) {
        const std::string name(symbol.name);
        table->has_lines(name);
        for (const uint64_t offset : {uint64_t{0}, uint64_t{16}, uint64_t{0x100}, symbol.size, symbol.size - 1, ~uint64_t{0}}) {
            size_t depth = 0;
            for (const LineTable::Line* line = table->find(name, offset); line; line = table->caller(*line)) {
                table->file(*line);
                table->function(*line);
                fuzz::require(++depth <= input.size(), "chains of inlined calls end");
            }
        }
    }
}

// What a launch passes to a kernel of NCCL: blocks and entries in two bytes each, then the argument.
FUZZ_TARGET(nccl_work) {
    if (input.size() < 4) return;
    uint16_t numbers[2];
    std::memcpy(numbers, input.data(), sizeof numbers);
    // Of exactly its size, so that a byte too far is seen.
    const std::string argument(input.substr(4));
    const auto functions = nccl_functions(argument.data(), argument.size(), numbers[0] % 64, numbers[1]);
    if (!functions) return;
    for (const uint32_t function : *functions) fuzz::require(function < numbers[1], "functions are in the table");
}
