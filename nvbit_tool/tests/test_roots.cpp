// What addresses are made from: kernels whose addresses are known by their source, as three generations of GPUs have them.
#include "code/roots.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "code/branch_targets.h"
#include "code/parameters.h"
#include "test_data.h"

using namespace snoopie;

namespace {

struct Function {
    std::optional<ParameterArea> area;
    std::vector<std::string> texts;
    std::vector<uint32_t> offsets;
    BranchTargets branches;
};

Listing listing_of_function(const Function& function) {
    return listing_of(function.offsets, {function.texts.begin(), function.texts.end()}, function.branches);
}

std::map<std::string, Function> listing() {
    std::map<std::string, Function> functions;
    std::istringstream lines(test::read("roots.txt"));
    Function* function = nullptr;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first, architecture, name, base, bytes;
        words >> first;
        if (first == "!") {
            uint32_t offset = 0;
            words >> std::hex >> offset;
            for (uint32_t target = 0; words >> target;) function->branches[offset].push_back(target);
        } else if (first != "#") {
            function->offsets.push_back(static_cast<uint32_t>(std::stoul(first, nullptr, 16)));
            function->texts.push_back(line.substr(first.size() + 1));
        } else if (words >> architecture >> name >> base >> bytes && architecture.substr(0, 3) == "sm_") {
            function = &functions[name + " " + architecture];
            if (base != "-")
                function->area = ParameterArea{static_cast<uint32_t>(std::stoul(base, nullptr, 16)),
                                               static_cast<uint32_t>(std::stoul(bytes, nullptr, 16))};
        }
    }
    return functions;
}

std::string text_of(const Roots& roots) {
    if (roots.unknown) return "?";
    constexpr std::string_view kAny[] = {"", "any", "any+", "map"};
    std::string text = "[" + std::string(kAny[static_cast<size_t>(roots.any)]);
    for (const uint16_t word : roots.pointers) text += (text.back() == '[' ? "" : " ") + std::to_string(word);
    text += "]";
    std::set<uint16_t> numbers(roots.numbers.begin(), roots.numbers.end());
    for (const Roots::Multiple& one : roots.multiples) numbers.insert({one.word, one.factor});
    for (const uint16_t word : numbers) text += " " + std::to_string(word);
    return text;
}

bool is_access(std::string_view name) {
    for (const char* one : {"LD", "LDG", "ST", "STG", "ATOM", "ATOMG", "RED", "REDG", "UTMALDG"})
        if (name == one) return true;
    return false;
}

std::vector<AddressOperand> addresses_in(const Listing& listing) {
    std::vector<AddressOperand> addresses;
    for (size_t i = 0; i < listing.lines.size(); ++i) {
        const std::optional<SassLine>& line = listing.lines[i];
        if (!line || !is_access(line->name)) continue;
        addresses.push_back({i, *address_operand(*line, line->name == "UTMALDG" ? 1 : 0)});
    }
    return addresses;
}

// What the addresses of a function's instructions are made from, by the instructions' names.
std::multimap<std::string, Roots> roots_in(const Function& function) {
    const Listing listing = listing_of_function(function);
    const std::vector<AddressOperand> addresses = addresses_in(listing);
    std::multimap<std::string, Roots> found;
    const std::vector<Roots> all = roots_of(listing, function.area, addresses);
    for (size_t i = 0; i < all.size(); ++i) found.emplace(listing.lines[addresses[i].instruction]->name, all[i]);
    return found;
}

// The distinct ones in a line: "LD [0] 4, ST [1] 4".
std::string summary(const Function& function) {
    std::set<std::string> distinct;
    for (const auto& [name, roots] : roots_in(function)) distinct.insert(name.substr(0, 2) + " " + text_of(roots));
    std::string text;
    for (const std::string& one : distinct) text += (text.empty() ? "" : ", ") + one;
    return text;
}

void kernels() {
    const std::map<std::string, std::string> expected = {
        {"copy", "LD [0], ST [1]"},
        {"fill", "ST [0]"},
        {"stencil", "LD [0] 4, ST [1] 4"},
        {"halo", "LD [0] 6, ST [1] 6, ST [2]"},
        {"from_memory", "LD [0], LD [1], ST ?"},
        {"in_struct", "LD [0] 2 3, ST [2]"},
        {"indexed", "ST ?"},
        {"either", "ST [0 1]"},
        {"from_constant", "ST ?"},
        {"from_global", "LD ?, ST ?"},
        {"through_shared", "ST ?"},
        {"distance", "ST [0 1]"},
        {"elements", "ST [0] 2 3"},
        {"difference", "ST [0] 2 3"},
        {"long_index", "ST [0]"},
        {"loaded_index", "LD [0], ST [1]"},
        {"loaded_long_index", "LD [0], ST ?"},
        {"aligned", "ST [0]"},
        {"shifted", "ST ?"},
        {"transpose", "LD [0] 4, ST [1] 4"},
        {"gemm", "LD [0] 6, LD [1] 6, ST [2] 6"},
        {"swapped", "LD [0 1], LD [0], LD [1], ST [0 1], ST [0], ST [1]"},
        {"through_function", "ST [0]"},
        {"divided", "ST [0] 2 3"},
        {"atomics", "AT [0], RE [1], ST [0]"},
        {"by_lane", "ST [0 1]"},
        {"by_lists", "LD [any] 950, ST [any] 950"},
        {"by_distances", "ST ?"},
        {"checked", "LD [0], ST [1]"},
        {"divided_twice", "LD [0], ST [1] 4 5"},
        {"spilled", "LD [0], LD [0] 4, ST [1] 4"},
        {"tensors", "UT [map]"},
        {"tensor_in_memory", "UT ?"},
        {"by_mode", "LD [1], ST ?"},
        {"by_list", "LD [1], ST ?"},
        {"by_flag", "LD [1], ST ?"},
        {"by_switch", "LD [1], LD [4], ST ?"},
        {"by_loaded_mode", "LD [1], LD [4], ST ?"},
        {"by_mode_of_block", "LD [1], ST ?"},
        {"by_dimensions", "ST [0] 3 4 5 6 7 8 9 10"},
    };
    constexpr size_t kWithoutSm80 = 2;  // tensor copies
    size_t seen = 0;
    for (const auto& [name, function] : listing()) {
        const auto found = expected.find(name.substr(0, name.find(' ')));
        if (found == expected.end()) continue;
        ++seen;
        CHECK_EQ(name + ": " + summary(function), name + ": " + found->second);
    }
    CHECK_EQ(seen, 3 * expected.size() - kWithoutSm80);
}

// --- What a launch decides ---

// What the last store is made from in a launch with these words of parameters, "-" if it does not run.
std::string at_launch(const Function& function, const std::vector<uint32_t>& parameters) {
    const Listing listing = listing_of_function(function);
    std::vector<AddressOperand> addresses = addresses_in(listing);
    const auto is_load = [&](const AddressOperand& one) { return listing.lines[one.instruction]->name.substr(0, 2) == "LD"; };
    if (!is_load(addresses.back())) addresses.erase(std::remove_if(addresses.begin(), addresses.end(), is_load), addresses.end());
    LaunchPaths paths;
    const Roots roots = roots_of(listing, function.area, addresses, &paths).back();
    if (roots.unknown_always()) return "?";
    std::string bytes(parameters.size() * 4, '\0');
    std::memcpy(bytes.data(), parameters.data(), bytes.size());
    const std::vector<bool> reached = paths.reached(bytes);
    for (const uint32_t place : roots.unknown_at)
        if (reached[place]) return "?";
    return roots.unknown ? "-" : text_of(roots);
}

void launches() {
    // data, list, stride, mode and flags; then what else there is
    const auto modes = [](uint32_t mode, uint32_t flags, uint64_t list = 0) {
        std::vector<uint32_t> words{0x1000, 0x7f00, static_cast<uint32_t>(list), static_cast<uint32_t>(list >> 32), 64, 0, mode, flags};
        words.resize(12, 5);
        return words;
    };
    constexpr uint64_t kList = 0x7f0000000000;  // its lower half is none
    size_t seen = 0;
    for (const auto& [name, function] : listing()) {
        const std::string kernel = name.substr(0, name.find(' '));
        const auto expect = [&](const std::vector<uint32_t>& parameters, const std::string& expected) {
            CHECK_EQ(name + ": " + at_launch(function, parameters), name + ": " + expected);
            ++seen;
        };
        if (kernel == "by_mode") {
            for (const uint32_t mode : {0u, 1u, 2u, 4u, 0x80000003u}) expect(modes(mode, 3, kList), "[0] 4 5");
            expect(modes(3, 0), "?");
        } else if (kernel == "by_list") {
            expect(modes(3, 3), "[0]");
            for (const uint64_t list : {kList, uint64_t{1}, kList + 1}) expect(modes(0, 0, list), "?");
        } else if (kernel == "by_flag") {
            for (const uint32_t flags : {0u, 7u, ~8u}) expect(modes(8, flags, kList), "[0]");
            for (const uint32_t flags : {8u, 15u, ~0u}) expect(modes(8, flags, kList), "?");
        } else if (kernel == "by_switch") {
            for (const uint32_t flags : {0u, 3u, 7u, 70u}) {
                expect(modes(6, flags, kList), "[0]");
                expect(modes(7, flags, kList), "?");
            }
        } else if (kernel == "by_loaded_mode" || kernel == "by_mode_of_block") {
            for (const uint32_t mode : {0u, 3u}) expect(modes(mode, 0, kList), "?");
        }
    }
    CHECK_EQ(seen, 3 * (6 + 4 + 6 + 8 + 2 + 2u));
}

// Words that take part in the address of a tensor with four dimensions at most, and that a launch does not read.
void unread() {
    size_t seen = 0;
    for (const auto& [name, function] : listing()) {
        if (name.substr(0, name.find(' ')) != "by_dimensions") continue;
        const Listing listing = listing_of_function(function);
        LaunchPaths paths;
        roots_of(listing, function.area, addresses_in(listing), &paths);
        CHECK(paths.may_leave_unread());
        for (uint32_t dimensions = 0; dimensions <= 5; ++dimensions) {
            std::vector<uint32_t> words(12, 0xdead);
            words[2] = dimensions;
            const std::string bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]);
            std::vector<uint16_t> found = paths.unread(paths.reached(bytes));
            // In no address.
            found.erase(std::remove(found.begin(), found.end(), 2), found.end());
            std::vector<uint16_t> expected;
            for (const uint16_t array : {3, 7})
                for (auto k = static_cast<uint16_t>(std::min(dimensions, 4u)); k < 4; ++k) expected.push_back(array + k);
            std::string text, wanted;
            for (const uint16_t word : found) text += " " + std::to_string(word);
            for (const uint16_t word : expected) wanted += " " + std::to_string(word);
            CHECK_EQ(name + ":" + text, name + ":" + wanted);
            ++seen;
        }
    }
    CHECK_EQ(seen, size_t{3 * 6});
}

// --- Single instructions ---

constexpr ParameterArea kArea{0x210, 0x40};

// Each instruction takes 16 bytes.
Function function_of(const std::vector<std::string>& texts, std::optional<ParameterArea> area = kArea) {
    Function function;
    function.area = area;
    for (const std::string& text : texts) {
        function.offsets.push_back(static_cast<uint32_t>(16 * function.texts.size()));
        function.texts.push_back(text);
    }
    return function;
}

// Of the last instruction, a load or a store.
std::string after(const std::vector<std::string>& texts, std::optional<ParameterArea> area = kArea) {
    return summary(function_of(texts, area));
}

void sources() {
    const std::string load = "LDG.E R0, desc[UR4][R2.64]";
    CHECK_EQ(after({"LDC.64 R2, c[0x0][0x210]", load}), "LD [0]");
    CHECK_EQ(after({"LDC.64 R2, c[0x0][0x218]", load}), "LD [1]");
    CHECK_EQ(after({"LDC.128 R0, c[0x0][0x220]", load}), "LD [3]");
    CHECK_EQ(after({"ULDC.64 UR6, c[0x0][0x218]", "MOV R2, UR6", "MOV R3, UR7", load}), "LD [1]");
    CHECK_EQ(after({"LDCU.128 UR8, c[0x0][0x210]", "LDG.E R0, desc[UR4][UR10]"}), "LD [1]");
    CHECK_EQ(after({"ULDC.64 UR6, c[0x0][0x218]", "LDG.E R0, desc[UR4][R2.U32+UR6]"}), "LD [1]");
    CHECK_EQ(after({"ULDC.64 UR6, c[0x0][0x218]", "LDC.64 R2, c[0x0][0x210]", "LDG.E R0, desc[UR4][R2.64+UR6+0x10]"}), "LD [0 1]");
    CHECK_EQ(after({"LDC R2, c[0x0][0x210]", "LDC R3, c[0x0][0x214]", load}), "LD [0]");
    // Atomics of older GPUs do not say that they take a pair.
    CHECK_EQ(after({"LDC.64 R2, c[0x0][0x210]", "ATOMG.E.ADD.STRONG.GPU PT, R0, [R2+0x10], R5"}), "AT [0]");
    // Beyond the parameters, another bank, and the driver's own.
    for (const char* from : {"LDC.64 R2, c[0x0][0x250]", "LDC.64 R2, c[0x3][0x0]", "LDC.64 R2, c[0x0][0x28]", "LDC.64 R2, cx[UR4][0x0]",
                             "LDG.E.64 R2, desc[UR4][R8.64]", "LDS.64 R2, [R8]", "LDL.64 R2, [R1]", "LD.E.64 R2, [R8.64]",
                             "ATOMS.EXCH.64 R2, [R8], R6", "SHF.L.U32 R2, R8, 0x2, RZ", "CS2R R2, SRZ", "LDG.E.128 R0, desc[UR4][R8.64]",
                             "LDG.E.ENL2.256 R8, R0, desc[UR4][R20.64]", "FROM.OUTER.SPACE R9, R8"})
        CHECK_EQ(after({from, load}), "LD ?");
    // A function that is called knows nothing.
    CHECK_EQ(after({"LDC.64 R2, c[0x0][0x210]", load}, std::nullopt), "LD ?");
    // One half of a pointer is no pointer.
    CHECK_EQ(after({"LDC R2, c[0x0][0x210]", load}), "LD ?");
    CHECK_EQ(after({"LDC R3, c[0x0][0x214]", load}), "LD ?");
    CHECK_EQ(after({"LDC.64 R2, c[0x0][0x210]", "LDG.E R3, desc[UR4][R8.64]", load}), "LD ?");
    CHECK_EQ(after({"LDC.64 R2, c[0x0][0x210]", "LDS R3, [R8]", load}), "LD ?");
}

// A word that is chosen by an index that only the run knows.
void chosen() {
    const std::string load = "LDG.E R0, desc[UR4][R2.64]";
    const std::string any = "LDC.64 R2, c[0x0][R9+0x210]";
    CHECK_EQ(after({any, load}), "LD [any]");
    CHECK_EQ(after({"ULDC.64 UR6, c[0x0][UR8+0x210]", "IMAD.WIDE.U32 R2, R9, 0x4, UR6", load}), "LD [any]");
    CHECK_EQ(after({any, "LDG.E R0, [R2.64]"}, ParameterArea{0x210, 0x7ffc}), "LD [any]");
    CHECK_EQ(after({any, "LDC R8, c[0x0][0x220]", "IMAD.WIDE R2, R8, 0x4, R2", load}), "LD [any] 4");
    CHECK_EQ(after({any, "@P0 LDC.64 R2, c[0x0][0x218]", load}), "LD [any 1]");
    CHECK_EQ(after({any, "LDC.64 R6, c[0x0][R9+0x220]", "SEL R2, R2, R6, P0", "SEL R3, R3, R7, P0", load}), "LD [any]");
    // A distance among them may be added to a pointer.
    const std::vector<std::string> sum = {"IADD3 R2, P0, R2, R6, RZ", "IADD3.X R3, R3, R7, RZ, P0, !PT", load};
    const auto added = [&](const std::string& other) {
        std::vector<std::string> texts = {any, other};
        texts.insert(texts.end(), sum.begin(), sum.end());
        return after(texts);
    };
    CHECK_EQ(added("LDC.64 R6, c[0x0][R8+0x210]"), "LD [any+]");
    CHECK_EQ(added("LDC.64 R6, c[0x0][0x218]"), "LD [any+ 1]");
    CHECK_EQ(added("CS2R R6, SRZ"), "LD [any]");
    CHECK_EQ(added("LDG.E.64 R6, desc[UR4][R10.64]"), "LD ?");
    CHECK_EQ(after({any, "ULDC.64 UR6, c[0x0][0x218]", "LDG.E R0, desc[UR4][R2.64+UR6]"}), "LD [any+ 1]");
    CHECK_EQ(after({any, load, "IADD3 R2, R2, R2, RZ", "@P0 BRA 0x10", "EXIT"}), "LD [any+]");
    // So may one in elements, whose upper half then comes into the address's; but 32 bits of it are an index.
    const std::string pointer = "LDC.64 R4, c[0x0][0x210]";
    CHECK_EQ(after({any, pointer, "LEA R6, P0, R2, R4, 0x2", "LEA.HI.X R7, R2, R5, R3, 0x2, P0", "LDG.E R0, [R6.64]"}), "LD ?");
    CHECK_EQ(after({any, pointer, "IMAD R3, R3, 0x4, RZ", "IMAD.WIDE.U32 R6, R2, 0x4, R4", "IADD3 R7, R7, R3, RZ", "LDG.E R0, [R6.64]"}),
             "LD ?");
    CHECK_EQ(after({any, pointer, "IMAD R2, R2, R3, RZ", "IMAD.WIDE R6, R2, 0x4, R4", "LDG.E R0, [R6.64]"}), "LD [0]");
    for (const char* from : {"LDC R8, c[0x0][R9+0x210]", "LDC.U8 R8, c[0x0][R9+0x210]", "ULDC.U16 UR8, c[0x0][UR9+0x210]"})
        CHECK_EQ(after({from, "MOV R8, UR8", "LDC R8, c[0x0][R9+0x214]", "IMAD.WIDE R2, R8, 0x4, R4", load}), "LD ?");
    CHECK_EQ(after({pointer, "LDC R8, c[0x0][R9+0x210]", "IMAD.WIDE R2, R8, 0x4, R4", load}), "LD [0]");
    CHECK_EQ(after({pointer, "LDC R8, c[0x0][R9+0x210]", "MOV R2, R4", "IADD3 R3, R5, R8, RZ", load}), "LD ?");
    CHECK_EQ(after({any, pointer, "SHF.R.S64 R2, R2, 0x2, R3", "IADD3 R6, P0, R2, R4, RZ", "LEA.HI.X.SX32 R7, R3, R5, 0x1e, P0",
                    "LDG.E R0, [R6.64]"}),
             "LD ?");
    // Two loads of 32 bits are not seen to be a pair.
    CHECK_EQ(after({"LDC R2, c[0x0][R9+0x210]", "LDC R3, c[0x0][R9+0x214]", load}), "LD ?");
    // 8 or 16 bits are a number, also at a known place.
    CHECK_EQ(after({pointer, "LDC.U16 R8, c[0x0][0x220]", "IMAD.WIDE R2, R8, 0x4, R4", load}), "LD [0] 4");
    CHECK_EQ(after({"LDC.U8 R2, c[0x0][0x210]", "LDC R3, c[0x0][0x214]", load}), "LD ?");
}

// The address of a tensor map that lies among the parameters is made from theirs.
void maps() {
    const std::string copy = "UTMALDG.2D [UR8], [UR4], desc[UR14]";
    const std::string parameters = "ULDC.64 UR4, c[0x0][0x198]";
    CHECK_EQ(after({parameters, copy}), "UT [map]");
    CHECK_EQ(after({parameters, "UIADD3 UR4, UP0, UR4, 0x30, URZ", "UIADD3.X UR5, URZ, UR5, URZ, UP0, !UPT", copy}), "UT [map]");
    CHECK_EQ(after({"LDCU.64 UR6, c[0x0][0x348]", "UIADD3.64 UR4, UPT, UPT, UR6, UR10, URZ", copy}, ParameterArea{0x380, 0x100}),
             "UT [map]");
    // Each generation has its own place for it.
    CHECK_EQ(after({"ULDC.64 UR4, c[0x0][0x348]", copy}), "UT ?");
    CHECK_EQ(after({parameters, copy}, ParameterArea{0x380, 0x100}), "UT ?");
    CHECK_EQ(after({parameters, copy}, ParameterArea{0x160, 0x100}), "UT ?");
    // A map in memory, one of both, or a distance from one to the other.
    CHECK_EQ(after({"ULDC.64 UR4, c[0x0][0x210]", copy}), "UT ?");
    CHECK_EQ(after({parameters, "@UP0 ULDC.64 UR4, c[0x0][0x210]", copy}), "UT ?");
    CHECK_EQ(after({parameters, "ULDC.64 UR6, c[0x0][0x210]", "UIADD3.64 UR4, UR4, UR6, URZ", copy}), "UT ?");
    CHECK_EQ(after({parameters, "ULDC.64 UR6, c[0x0][UR7+0x210]", "UIADD3.64 UR4, UR4, UR6, URZ", copy}), "UT ?");
    // To which only numbers may be added.
    CHECK_EQ(after({parameters, "ULDC UR6, c[0x0][0x218]", "UIMAD.WIDE UR4, UR6, 0x80, UR4", copy}), "UT [map]");
    // What else is made of it is not followed.
    CHECK_EQ(after({parameters, "LDG.E R0, desc[UR14][UR4]"}), "LD ?");
    CHECK_EQ(after({"ULDC.64 UR4, c[0x0][0x210]", "ULDC UR6, c[0x0][0x198]", "UIMAD.WIDE UR4, UR6, 0x4, UR4", "LDG.E R0, [UR4]"}), "LD ?");
}

void arithmetic() {
    const std::string pointer = "LDC.64 R2, c[0x0][0x210]";
    const std::string load = "LDG.E R0, desc[UR4][R4.64]";
    const auto by = [&](std::vector<std::string> middle) {
        middle.insert(middle.begin(), pointer);
        middle.push_back(load);
        return after(middle);
    };
    CHECK_EQ(by({"IADD3 R4, P0, R2, R8, RZ", "IADD3.X R5, R3, RZ, RZ, P0, !PT"}), "LD [0]");
    CHECK_EQ(by({"IADD3 R4, P0, R2, c[0x0][0x218], RZ", "IADD3.X R5, R3, c[0x0][0x21c], RZ, P0, !PT"}), "LD [0 1]");
    CHECK_EQ(by({"IADD3 R4, P0, R2, c[0x0][0x220], RZ", "IADD3.X R5, R3, RZ, RZ, P0, !PT"}), "LD [0] 4");
    CHECK_EQ(by({"IADD.64 R4, R2, R8"}), "LD [0]");
    CHECK_EQ(by({"IMAD.WIDE.U32 R4, R8, 0x4, R2"}), "LD [0]");
    CHECK_EQ(by({"LDC R8, c[0x0][0x220]", "IMAD.WIDE R4, R8, 0x4, R2"}), "LD [0] 4");
    CHECK_EQ(by({"IMAD.WIDE R4, R8, R9, c[0x0][0x228]"}), "LD [3]");
    CHECK_EQ(by({"LEA R4, P0, R8, R2, 0x2", "LEA.HI.X R5, R8, R3, RZ, 0x2, P0"}), "LD [0]");
    CHECK_EQ(by({"LEA R4, P0, R2, R8, 0x2", "LEA.HI.X R5, R2, R9, R3, 0x2, P0"}), "LD ?");
    CHECK_EQ(by({"IMAD.MOV.U32 R4, RZ, RZ, R2", "IMAD.X R5, R3, 0x1, R9, P0"}), "LD [0]");
    CHECK_EQ(by({"LOP3.LUT R4, R2, 0xfffffff0, RZ, 0xc0, !PT", "MOV R5, R3"}), "LD [0]");
    CHECK_EQ(by({"SEL R4, R2, c[0x0][0x218], P0", "SEL R5, R3, c[0x0][0x21c], P0"}), "LD [0 1]");
    CHECK_EQ(by({"SHFL.IDX PT, R4, R2, R6, 0x1f", "SHFL.IDX PT, R5, R3, R6, 0x1f"}), "LD [0]");
    CHECK_EQ(by({"SHF.R.U64 R4, R2, 0x2, R3", "SHF.L.U64.HI R5, R4, 0x2, R3"}), "LD ?");
    CHECK_EQ(by({"IMAD.HI.U32 R4, R2, R8, RZ", "MOV R5, R3"}), "LD ?");
    CHECK_EQ(by({"R2UR UR8, R2", "R2UR UR9, R3", "UIADD3 UR8, UP0, UR8, UR6, URZ", "UIADD3.X UR9, UR9, URZ, URZ, UP0, !UPT",
                 "LDG.E R0, desc[UR4][UR8]"}),
             "LD ?, LD [0]");
    // The sources of a shift are 32 bits each, and of an upper product only the addend is a pair.
    const std::string unknown = "B2R.RESULT R11, P0";
    CHECK_EQ(by({unknown, "SHF.R.U32.HI R9, RZ, 0x2, R10", "IMAD.WIDE.U32 R4, R9, 0x4, R2"}), "LD [0]");
    CHECK_EQ(by({unknown, "SHF.R.U64 R9, R10, 0x2, R8", "IMAD.WIDE.U32 R4, R9, 0x4, R2"}), "LD [0]");
    CHECK_EQ(by({unknown, "SHF.R.U64 R9, R10, 0x2, R11", "IMAD.WIDE.U32 R4, R9, 0x4, R2"}), "LD ?");
    CHECK_EQ(by({unknown, "IMAD.HI.U32 R9, R10, R10, RZ", "IMAD.WIDE.U32 R4, R9, 0x4, R2"}), "LD [0]");
    CHECK_EQ(by({unknown, "IMAD.HI.U32 R9, R8, R8, R10", "IMAD.WIDE.U32 R4, R9, 0x4, R2"}), "LD ?");
    // A conversion reads as many as its source has, and writes as many as its result.
    for (const char* one : {"F2I.U32.TRUNC R9, R10", "F2I.U64.TRUNC R8, R10", "I2F.F64.U32 R8, R10", "F2F.F64.F32 R8, R10"})
        CHECK_EQ(by({unknown, one, "IMAD.WIDE.U32 R4, R9, 0x4, R2"}), "LD [0]");
    for (const char* one :
         {"F2I.U32.F64.TRUNC R9, R10", "I2F.S64 R9, R10", "I2F.F64.U64 R8, R10", "F2F.F32.F64 R9, R10", "F2I.S64.F64 R8, R10"})
        CHECK_EQ(by({unknown, one, "IMAD.WIDE.U32 R4, R9, 0x4, R2"}), "LD ?");
    for (const char* one : {"F2I.U32.F64.TRUNC R10, R8", "I2F.U64 R10, R8", "F2F.F32.F64 R10, R8"})
        CHECK_EQ(by({unknown, one, "IMAD.WIDE.U32 R4, R11, 0x4, R2"}), "LD ?");
    for (const char* one : {"F2I.U64.TRUNC R10, R8", "F2I.S64.F64 R10, R8", "I2F.F64.U32 R10, R8", "F2F.F64.F32 R10, R8"})
        CHECK_EQ(by({unknown, one, "IMAD.WIDE.U32 R4, R11, 0x4, R2"}), "LD [0]");
    CHECK_EQ(by({"ULDC.64 UR8, c[0x0][0x210]", "USHF.L.U64.HI UR7, UR10, 0x2, UR11", "MOV R4, UR8", "MOV R5, UR9"}), "LD [0]");
    // What an arrival at a barrier takes, it leaves.
    CHECK_EQ(by({"SYNCS.ARRIVE.TRANS64 RZ, [UR15+0xa8], R2", "USETSHMSZ 0x100", "MOV R4, R2", "MOV R5, R3"}), "LD [0]");
    CHECK_EQ(by({"SYNCS.ARRIVE.TRANS64 R2, [UR15+0xa8], R8", "MOV R4, R2", "MOV R5, R3"}), "LD ?");
    // The upper half of a product is smaller than both factors: an index, if one is. That of a constant is not known to be one.
    for (const char* index : {"S2R R8, SR_TID.X", "LDS R8, [R20]", "S2UR UR6, SR_CTAID.X"}) {
        const std::string divided = index[2] == 'U' ? "IMAD.HI.U32 R9, R7, UR6, RZ" : "IMAD.HI.U32 R9, R8, R7, RZ";
        CHECK_EQ(by({index, "LDC R7, c[0x0][0x220]", divided, "IMAD.WIDE.U32 R4, R9, 0x4, R2"}), "LD [0]");
    }
    for (const char* product : {"IMAD.HI.U32 R9, R7, 0xaaaaaaab, RZ", "IMAD.HI.U32 R9, R7, R8, RZ", "IMAD.HI.U32 R9, R8, R7, RZ"})
        CHECK_EQ(by({"MOV R8, 0xaaaaaaab", "LDC R7, c[0x0][0x220]", product, "IMAD.WIDE.U32 R4, R9, 0x4, R2"}), "LD [0] 4");
    CHECK_EQ(by({"S2R R8, SR_TID.X", "LDC R7, c[0x0][0x220]", "IADD3 R8, R8, c[0x0][0x224], RZ", "IMAD.HI.U32 R9, R8, R7, RZ",
                 "IMAD.WIDE.U32 R4, R9, 0x4, R2"}),
             "LD [0] 5");
    CHECK_EQ(by({"S2R R8, SR_TID.X", "LDC R7, c[0x0][0x220]", "LDC R6, c[0x0][0x228]", "IMAD.HI.U32 R9, R8, R7, R6",
                 "IMAD.WIDE.U32 R4, R9, 0x4, R2"}),
             "LD [0] 4 6");
    // Only a known product of 1 leaves a pointer as it is.
    CHECK_EQ(by({"IMAD R4, R2, R8, RZ", "MOV R5, R3"}), "LD ?");
    // What another instruction makes of numbers is a number.
    CHECK_EQ(by({"I2F R8, c[0x0][0x220]", "F2I.TRUNC.NTZ R8, R8", "IMAD.WIDE R4, R8, 0x4, R2"}), "LD [0] 4");
    // The halves stay apart where two integers share a word.
    CHECK_EQ(by({"LDC R8, c[0x0][0x220]", "LDC R9, c[0x0][0x224]", "IMAD R8, R8, R10, R9", "IMAD.WIDE R4, R8, 0x4, R2"}), "LD [0] 4 5");
    // Of results whose width is not known, what is behind the first register can stay.
    for (const char* one : {"CS2R.32 R8, SR_CLOCKLO", "F2F.F32.F64 R8, R20", "MATCH.ANY.U64 R8, R20", "F2I.F64.TRUNC R8, R20"})
        CHECK_EQ(by({"LDS.64 R8, [R20]", one, "IADD3 R4, P0, R2, R9, RZ", "IADD3.X R5, R3, R9, RZ, P0, !PT"}), "LD ?");
    CHECK_EQ(by({"LDS.64 R8, [R20]", "FADD R6, RZ, |R9|.reuse", "IADD3 R4, P0, R2, R6, RZ", "IADD3.X R5, R3, R6, RZ, P0, !PT"}), "LD ?");
    // 32 bits of another memory are an index where they are widened, and a half of a pointer where they are the upper half.
    for (const char* from : {"LDS R8, [R20]", "LDL R8, [R1]", "LD.E R8, [R20.64]", "ATOMS.ADD R8, [R20], R21"}) {
        const std::string index = std::string_view(from).substr(0, 3) == "LD." ? "LD ?, LD [0]" : "LD [0]";
        CHECK_EQ(by({from, "IMAD.WIDE R4, R8, 0x4, R2"}), index);
        CHECK_EQ(by({from, "SHF.R.S32.HI R9, RZ, 0x1f, R8", "LEA R4, P0, R8, R2, 0x2", "LEA.HI.X R5, R8, R3, R9, 0x2, P0"}), index);
        CHECK_EQ(by({from, "MOV R4, R2", "IADD3 R5, R3, R8, RZ"}), "LD ?");
        CHECK_EQ(by({from, "MOV R9, R8", "LEA R4, P0, R10, R2, 0x2", "LEA.HI.X R5, R10, R3, R9, 0x2, P0"}), "LD ?");
        CHECK_EQ(by({from, "IMAD R9, R8, 0x4, RZ", "MOV R4, R2", "IADD3 R5, R3, R9, RZ"}), "LD ?");
        CHECK_EQ(by({from, "MOV R4, R2", "MOV R5, R8"}), "LD ?");
    }
    // 32 of more bits are an index, too; all of them can be a distance.
    for (const char* from : {"LDS.64 R8, [R20]", "LDL.64 R8, [R20]", "LDS.128 R8, [R20]"}) {
        CHECK_EQ(by({from, "IMAD.WIDE R4, R8, 0x4, R2"}), "LD [0]");
        CHECK_EQ(by({from, "IADD3 R4, P0, R2, R8, RZ", "IADD3.X R5, R3, R9, RZ, P0, !PT"}), "LD ?");
        CHECK_EQ(by({from, "LEA R4, P0, R8, R2, 0x2", "LEA.HI.X R5, R8, R3, R9, 0x2, P0"}), "LD ?");
        CHECK_EQ(by({from, "MOV R4, R8", "MOV R5, R9"}), "LD ?");
        CHECK_EQ(by({from, "MOV R4, R2", "MOV R5, R9"}), "LD ?");
    }
    CHECK_EQ(by({"LDS R8, [R20]", "R2UR UR7, R8", "USHF.R.S32.HI UR6, URZ, 0x1f, UR7", "ULDC.64 UR8, c[0x0][0x210]",
                 "ULEA UR8, UP0, UR7, UR8, 0x2", "ULEA.HI.X UR9, UR7, UR9, UR6, 0x2, UP0", "MOV R4, UR8", "MOV R5, UR9"}),
             "LD [0]");
    // What is wide takes all its registers.
    CHECK_EQ(by({"B2R.RESULT R11, P0", "LDS.64 R10, [R20]", "IMAD.WIDE R4, R11, 0x4, R2"}), "LD [0]");
    // Both registers of a pair change at once.
    CHECK_EQ(by({"LDC.64 R4, c[0x0][0x218]", "IMAD.WIDE.U32 R4, R4, 0x1, R2"}), "LD [0] 2");
}

// How often a number takes part in an address: "4<<2 4*5<<0", and behind a bar those of which that is not known.
void multiples() {
    const auto of = [](std::vector<std::string> middle) {
        middle.insert(middle.begin(), {"LDC.64 R2, c[0x0][0x210]", "LDC R7, c[0x0][0x220]", "LDC R6, c[0x0][0x224]", "S2R R8, SR_TID.X"});
        middle.insert(middle.end(), {"IMAD.WIDE R4, R9, 0x4, R2", "LDG.E R0, desc[UR4][R4.64]"});
        std::string text;
        for (const auto& [name, roots] : roots_in(function_of(middle))) {
            if (roots.unknown || roots.pointers != std::vector<uint16_t>{0}) continue;
            for (const Roots::Multiple& one : roots.multiples)
                text += std::to_string(one.word) + (one.product ? "*" + std::to_string(one.factor) : "") + "<<" +
                        std::to_string(one.shift) + " ";
            text += "|";
            for (const uint16_t word : roots.numbers) text += " " + std::to_string(word);
        }
        return text;
    };
    CHECK_EQ(of({"IMAD R9, R8, R7, RZ"}), "4<<2 |");
    CHECK_EQ(of({"IMAD R9, R8, c[0x0][0x220], R6"}), "4<<2 5<<2 |");
    CHECK_EQ(of({"S2R R9, SR_CTAID.Y", "IMAD R8, R9, 0x80, R8", "IMAD R9, R7, R8, RZ"}), "4<<2 |");
    CHECK_EQ(of({"IMAD R9, R8, R7, R8", "IMAD.SHL.U32 R9, R9, 0x2, RZ"}), "4<<3 |");
    CHECK_EQ(of({"IMAD R10, R8, R7, RZ", "SHF.R.S32.HI R11, RZ, 0x1f, R10", "LEA R2, P0, R10, R2, 0x3",
                 "LEA.HI.X R3, R10, R3, R11, 0x3, P0", "MOV R9, RZ"}),
             "4<<3 |");
    CHECK_EQ(of({"IMAD R9, R7, R6, RZ"}), "4*5<<2 |");
    CHECK_EQ(of({"IMAD R9, R6, c[0x0][0x220], RZ"}), "4*5<<2 |");
    CHECK_EQ(of({"IADD3 R9, R8, R7, RZ", "IMAD R9, R9, R6, RZ"}), "4*5<<2 5<<2 |");
    // The remainder of a division by a number, times another: as strides of tensors are used.
    CHECK_EQ(of({"MOV R10, RZ", "MOV R11, R8", "IMAD.HI.U32 R10, R11, c[0x0][0x228], R10", "SHF.R.U32.HI R10, RZ, 0x3, R10",
                 "IMAD.MOV R10, RZ, RZ, -R10", "IMAD R11, R10, R7, R8", "IMAD R9, R11, R6, RZ"}),
             "4*5<<2 5<<2 |");
    // An index in multiples, one that can be a constant, and constants: that of one step is not known.
    for (const char* index :
         {"IMAD.SHL.U32 R8, R8, 0x4, RZ", "SHF.L.U32 R8, R8, 0x2, RZ", "LOP3.LUT R8, R8, 0xfffffffc, RZ, 0xc0, !PT", "MOV R8, 0x8",
          "@P0 MOV R8, 0x8", "SEL R8, R8, 0x8, P0", "IMNMX R8, R8, 0x8, PT", "LDG.E R8, desc[UR4][R20.64]", "LDS R8, [R20]",
          "IMAD R8, R8, R20, RZ", "SHFL.IDX PT, R8, R8, R20, 0x1f", "PRMT R8, R8, 0x7604, RZ", "@P0 IMAD R8, R8, 0x8, RZ",
          "IMAD R8, R8, R8, RZ", "LEA R8, R8, R8, 0x2", "IMAD R8, R8, 0x3, R8"})
        CHECK_EQ(of({index, "IMAD R9, R8, R7, RZ"}), "| 4");
    // A word that is not as it was: something is added to it, so that it can be one where it is nought.
    for (const char* change : {"VIADD R7, R7, 0x1", "IADD3 R7, R7, 0x1, RZ", "LOP3.LUT R7, R7, 0x3, RZ, 0xc0, !PT", "SEL R7, R7, 0x1, P0",
                               "@P0 MOV R7, 0x1", "IMAD R7, R7, 0x3, RZ", "LEA R7, R7, 0x1, 0x1", "IMNMX R7, R7, 0x1, PT"}) {
        const std::string found = of({change, "IMAD R9, R7, R6, RZ"});
        CHECK(found.find(" 5", found.find('|')) != found.npos);
    }
    CHECK_EQ(of({"@P0 LDC R7, c[0x0][0x228]", "IMAD R9, R7, R6, RZ"}), "4*5<<2 5*6<<2 | 5");
    // Other factors than powers of two, products of three, and what bits are taken from.
    CHECK_EQ(of({"IMAD R9, R7, 0x3, RZ"}), "| 4");
    CHECK_EQ(of({"IMAD R9, R7, R6, RZ", "IMAD R9, R9, c[0x0][0x228], RZ"}), "| 4 5 6");
    CHECK_EQ(of({"IMAD R9, R8, R7, RZ", "LOP3.LUT R9, R9, 0xff, RZ, 0xc0, !PT"}), "| 4");
    CHECK_EQ(of({"IMAD R9, R8, R7, RZ", "SHF.L.U32 R9, R9, 0x2, RZ"}), "| 4");
    CHECK_EQ(of({"IMAD R9, R7, 0x10000, RZ", "IMAD R9, R9, 0x10000, RZ"}), "| 4");
    // In two ways.
    CHECK_EQ(of({"IMAD R9, R8, R7, RZ", "@P0 IMAD.SHL.U32 R9, R7, 0x4, RZ"}), "4<<2 4<<4 |");
}

// What a kernel puts into its stack it finds there again.
void stack() {
    const std::string begin = "LDC R1, c[0x0][0x28]";
    const std::string frame = "IADD3 R1, R1, -0x50, RZ";
    const std::string pointer = "LDC.64 R2, c[0x0][0x210]";
    const std::string store = "STL.64 [R1+0x8], R2";
    const std::string restore = "LDL.64 R4, [R1+0x8]";
    const std::string load = "LDG.E R0, desc[UR4][R4.64]";
    CHECK_EQ(after({begin, frame, pointer, store, restore, load}), "LD [0]");
    CHECK_EQ(after({begin, frame, pointer, "STL [R1], R2", "STL [R1+0x10], R3", "LDL.LU R4, [R1]", "LDL R5, [R1+0x10]", load}), "LD [0]");
    CHECK_EQ(after({begin, frame, pointer, "STL.128 [R1], R0", "LDL.64 R4, [R1+0x8]", load}), "LD [0]");
    CHECK_EQ(after({begin, frame, pointer, store, "STL [R1+0x8], RZ", restore, load}), "LD ?");
    CHECK_EQ(after({begin, frame, pointer, "@P0 " + store, "LDC.64 R2, c[0x0][0x218]", "@!P0 " + store, restore, load}), "LD [0 1]");
    CHECK_EQ(after({begin, frame, pointer, store, "LDS.64 R2, [R9]", "@P0 " + store, restore, load}), "LD ?");
    CHECK_EQ(after({begin, frame, pointer, "LDS.64 R6, [R9]", "STL.64 [R1+0x8], R6", store, restore, load}), "LD [0]");
    // Elsewhere, or only a part.
    CHECK_EQ(after({begin, frame, pointer, store, "LDL.64 R4, [R1+0x10]", load}), "LD ?");
    CHECK_EQ(after({begin, frame, pointer, store, "LDC.U8 R6, c[0x0][0x220]", "STL.U8 [R1+0x9], R6", restore, load}), "LD [0] 4");
    CHECK_EQ(after({begin, frame, pointer, store, "LDL.U16 R4, [R1+0x8]", "MOV R5, R3", load}), "LD ?");
    CHECK_EQ(after({begin, frame, pointer, "STL.64 [R1+0x1000], R2", "LDL.64 R4, [R1+0x1000]", load}), "LD ?");
    // Where any other address may lead there, or the stack's pointer is not what it was.
    for (const char* other : {"STL [R9], R10", "STL [R1+UR4], R10", "STL [R1+0x9], R10", "MOV R9, R1", "LEA R9, R8, R1, 0x3",
                              "IADD3 R9, R1, 0x10, RZ", "IADD3 R1, R1, -0x10, RZ", "STL [R1], R1", "LDG.E.64 R0, [R8.64]"})
        CHECK(after({begin, frame, pointer, store, other, restore, load}).find("[0]") == std::string::npos);
    CHECK_EQ(after({"@P0 LDC R1, c[0x0][0x28]", pointer, store, restore, load}), "LD ?");
    CHECK_EQ(after({pointer, store, restore, load}), "LD ?");
    CHECK_EQ(after({pointer, "@P0 EXIT", begin, store, restore, load}), "LD ?");
    CHECK_EQ(after({begin, frame, pointer, store, restore, load, "@P0 BRA 0x10", "EXIT"}), "LD ?");
    // Another function may write there: its results, for instance.
    CHECK_EQ(after({begin, frame, pointer, store, "CALL.ABS.NOINC R8", restore, load}), "LD ?");
    CHECK_EQ(after({begin, frame, pointer, store, "MOV R8, 0x60", "CALL.REL.NOINC 0x90", restore, load, "EXIT", "RET.REL.NODEC R8 0x0"}),
             "LD [0]");
}

void control() {
    const std::string a = "LDC.64 R2, c[0x0][0x210]";
    const std::string b = "LDC.64 R2, c[0x0][0x218]";
    const std::string load = "LDG.E R0, desc[UR4][R2.64]";
    CHECK_EQ(after({a, b, load}), "LD [1]");
    CHECK_EQ(after({a, "@P0 LDC.64 R2, c[0x0][0x218]", load}), "LD [0 1]");
    CHECK_EQ(after({a, "@!UP0 LDC.64 R2, c[0x0][0x218]", load}), "LD [0 1]");
    CHECK_EQ(after({a, "@P0 BRA 0x30", b, load}), "LD [0 1]");
    CHECK_EQ(after({a, "BRA 0x30", b, load}), "LD [0]");
    CHECK_EQ(after({a, "BRA UP0, 0x30", b, load}), "LD [0 1]");
    CHECK_EQ(after({a, "BRA.DIV UR4, 0x30", b, load}), "LD [0 1]");
    CHECK_EQ(after({a, "@P0 EXIT", load}), "LD [0]");
    // A loop: what its end leaves reaches its begin.
    CHECK_EQ(after({a, load, b, "@P0 BRA 0x10", "EXIT"}), "LD [0 1]");
    // Lanes that wait for others go on where these meet.
    CHECK_EQ(after({a, "BSSY B0, 0x60", "@P0 BRA 0x50", b, "BSYNC B0", "BSYNC B0", load}), "LD [0 1]");
    CHECK_EQ(after({a, "BSSY B0, 0x60", b, "BSYNC B0", "EXIT", "EXIT", load}), "LD [1]");
    CHECK_EQ(after({a, "BSSY B0, 0x60", "@P0 BSYNC B0", b, "BSYNC B0", "EXIT", load}), "LD [0 1]");
    // A function of its own, to which it returns from where it was called; and another's.
    CHECK_EQ(after({a, "MOV R8, 0x30", "CALL.REL.NOINC 0x50", load, "EXIT", "IADD3 R2, R2, 0x4, RZ", "RET.REL.NODEC R8 0x0"}), "LD [0]");
    CHECK_EQ(after({a, "CALL.REL.NOINC 0x9000", load, "EXIT"}), "LD ?");
    CHECK_EQ(after({a, load, "CALL.ABS.NOINC R8", "EXIT"}), "LD [0]");
    // One that is called by its address leaves results in R4 to R15.
    const auto around = [](const std::string& pair, const std::string& call) {
        return after({"LDC.64 R" + pair + ", c[0x0][0x210]", call, "LDG.E R0, desc[UR4][R" + pair + ".64]", "EXIT"});
    };
    for (const char* call : {"CALL.ABS.NOINC R8", "@P0 CALL.ABS.NOINC R8", "CALL.ABS.NOINC 0x0"}) {
        for (const char* pair : {"4", "8", "14"}) CHECK_EQ(around(pair, call), "LD ?");
        for (const char* pair : {"2", "16", "40"}) CHECK_EQ(around(pair, call), "LD [0]");
    }
    // A call that was not linked yet names its own end.
    CHECK_EQ(after({a, "CALL.REL.NOINC 0x20", load, "EXIT"}), "LD ?");
    // Each of two functions returns to where it was called.
    const std::vector<std::string> two = {
        "MOV R8, 0x20",  "CALL.REL.NOINC 0x80", a, "MOV R9, 0x50", "CALL.REL.NOINC 0xa0", load, "EXIT", "EXIT", b, "RET.REL.NODEC R8 0x0",
        "MOV R10, 0x10", "RET.REL.NODEC R9 0x0"};
    CHECK_EQ(after(two), "LD [0]");
    // What a function does not write is as it was where that was called, whatever another call of it left there.
    const std::string unknown_pair = "LDS.64 R2, [R12]";
    const std::vector<std::string> shared = {
        unknown_pair, "MOV R8, 0x30", "CALL.REL.NOINC 0x80", a, "MOV R8, 0x60", "CALL.REL.NOINC 0x80", load,
        "EXIT",       "MOV R9, R13",  "RET.REL.NODEC R8 0x0"};
    CHECK_EQ(after(shared), "LD [0]");
    std::vector<std::string> writing = shared;
    writing[8] = "@P0 MOV R3, R13";
    CHECK_EQ(after(writing), "LD ?");
    // Neither in a function that this one calls, nor where lanes meet in it.
    for (const char* inner : {"CALL.REL.NOINC 0xd0", "CALL.ABS.NOINC 0x0"}) {
        std::vector<std::string> nested = shared;
        nested[6] = "LDG.E R0, desc[UR4][R4.64]";
        nested[3] = "LDC.64 R4, c[0x0][0x210]";
        nested[8] = "MOV R10, 0xb0";
        nested[9] = "NOP";
        for (const char* more : {inner, "RET.REL.NODEC R8 0x0", "EXIT", "MOV R5, R13", "RET.REL.NODEC R10 0x0"}) nested.emplace_back(more);
        CHECK_EQ(after(nested), "LD ?");
    }
    std::vector<std::string> meeting_inside = shared;
    meeting_inside[8] = "BSSY B0, 0xb0";
    meeting_inside[9] = "BSYNC B0";
    for (const char* more : {"EXIT", "@P0 MOV R3, R13", "RET.REL.NODEC R8 0x0"}) meeting_inside.emplace_back(more);
    CHECK_EQ(after(meeting_inside), "LD ?");
    // Where the place to return to is not seen, any of them.
    std::vector<std::string> hidden = two;
    hidden[10] = "MOV R9, R12";
    CHECK_EQ(after(hidden), "LD [0]");
    hidden[8] = "LDC.64 R8, c[0x0][0x218]";
    CHECK_EQ(after(hidden), "LD [0]");
    hidden = two;
    hidden[3] = "HFMA2 R9, -RZ, RZ, 0, 4.76837158203125e-06";
    CHECK_EQ(after(hidden), "LD [0]");
    hidden[9] = "RET.ABS.NODEC R8 0x0";
    hidden[2] = "LDC.64 R2, c[0x0][0x220]";
    CHECK_EQ(after(hidden), "LD [1 2]");
    // A barrier's number is no place.
    CHECK_EQ(after({"@P0 LDC.64 R2, c[0x0][0x210]", load, b, "BAR.SYNC.DEFER_BLOCKING 0x0", "EXIT"}), "LD [0]");
    // Lanes go on where their own barrier says, also when it was saved.
    const std::vector<std::string> meeting = {"BSSY B0, 0x40", a, "BSYNC B0", "EXIT", load, "BSSY B0, 0x80", b, "BSYNC B0", "EXIT"};
    CHECK_EQ(after(meeting), "LD [0]");
    CHECK_EQ(after({"BSSY B0, 0x80", "BMOV.32.CLEAR R9, B0", "BSSY B0, 0x50", a, "BSYNC B0", "BMOV.32 B0, R9", b, "BSYNC B0", load}),
             "LD [1]");
    CHECK_EQ(after({"BSSY B0, 0x60", a, "BMOV.32 B0, R9", "BSYNC B0", "EXIT", "EXIT", load}), "LD [0]");
    CHECK_EQ(after({a, "WARPSYNC.COLLECTIVE R9, 0x60", b, "ENDCOLLECTIVE", "EXIT", "EXIT", load}), "LD [0 1]");
    // What was written under a guard is read under the same, while its predicate stays.
    const std::string unknown = "LDS.64 R2, [R8]";
    const std::string guarded = "@P0 LDG.E R0, desc[UR4][R2.64]";
    CHECK_EQ(after({unknown, "@P0 LDC.64 R2, c[0x0][0x210]", guarded}), "LD [0]");
    CHECK_EQ(
        after({unknown, "@P0 LDC.64 R6, c[0x0][0x210]", "@P0 IADD3 R2, P1, R6, R9, RZ", "@P0 IADD3.X R3, R7, RZ, RZ, P1, !PT", guarded}),
        "LD [0]");
    CHECK_EQ(after({unknown, "@!P0 LDC.64 R2, c[0x0][0x210]", guarded}), "LD ?");
    CHECK_EQ(after({unknown, "@UP0 LDC.64 R2, c[0x0][0x210]", "@UP0 LDG.E R0, desc[UR4][R2.64]"}), "LD ?");
    CHECK_EQ(after({unknown, "@P0 LDC.64 R2, c[0x0][0x210]", load}), "LD ?");
    for (const char* change :
         {"ISETP.NE.AND P0, PT, R9, RZ, PT", "IADD3 R9, P0, R9, R9, RZ", "@P1 PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x8", "R2P PR, R9, 0x7f",
          "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R9", "@P0 LDS.64 R2, [R9]", "LDS.64 R2, [R9]", "@P1 LDS.64 R2, [R9]", "BSSY B0, 0x40"})
        CHECK_EQ(after({unknown, "@P0 LDC.64 R2, c[0x0][0x210]", change, guarded, "EXIT"}), "LD ?");
    // Nobody knows where it goes, and what comes of it.
    CHECK_EQ(after({a, load, "BRX R8 -0x100", "EXIT"}), "LD ?");
    CHECK_EQ(after({a, "what is this", load}), "LD ?");
    CHECK_EQ(after({a, "@P9 bad", load}), "LD ?");
    // Never reached.
    CHECK_EQ(after({"EXIT", a, load}), "LD ?");
}

// Whether code runs that loads the pointer of the last store: word 4 says so, if it is 3.
void decisions() {
    const std::string pointer = "LDC.64 R2, c[0x0][0x210]";
    const std::string load = "@P0 LDG.E.64 R2, desc[UR4][R8.64]";
    const std::string store = "STG.E desc[UR4][R2.64], R0";
    // With so many in the fifth word, if the first of `middle` stands at 0x10.
    const auto with = [&](std::vector<std::string> middle, uint32_t mode, const std::string& loading) {
        middle.insert(middle.begin(), pointer);
        middle.insert(middle.end(), {loading, store, "EXIT"});
        return at_launch(function_of(middle), {0x1000, 0x7f00, 0, 0, mode, 7, 0x80000000, 1});
    };
    const auto decides = [&](const std::vector<std::string>& middle, const std::string& loading) {
        return with(middle, 3, loading) == "?" && with(middle, 2, loading) == "[0]";
    };
    const std::string mode = "LDC R9, c[0x0][0x220]";
    const std::string compare = "ISETP.EQ.AND P0, PT, R9, 0x3, PT";
    CHECK(decides({mode, compare}, load));
    CHECK(decides({"ISETP.EQ.AND P0, PT, RZ, c[0x0][0x220], PT", mode, compare}, load));
    // By a branch, by registers of other kinds, and by what is made of predicates.
    const std::string unguarded = load.substr(4);
    CHECK(decides({mode, "ISETP.NE.AND P0, PT, R9.reuse, 0x3, PT", "@P0 BRA 0x50"}, unguarded));
    CHECK(decides({mode, "ISETP.NE.AND P1, PT, R9, 0x3, PT", "BRA P1, 0x50"}, unguarded));
    CHECK(decides({mode, "ISETP.NE.AND P1, PT, R9, 0x3, PT", "@P1 EXIT", "MOV R2, R8"}, "LDG.E.64 R2, desc[UR4][R8.64]") == false);
    for (const char* move : {"MOV R7, R9", "IMAD.MOV.U32 R7, RZ, RZ, R9", "IMAD.U32 R7, RZ, RZ, R9", "VIADD R7, R9, 0x0"})
        CHECK(decides({mode, move, "MOV R9, R12", "ISETP.EQ.AND P0, PT, R7, 0x3, PT"}, load));
    CHECK(decides({"ULDC UR7, c[0x0][0x220]", "UISETP.EQ.AND UP0, UPT, UR7, 0x3, UPT", "PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0"}, load));
    CHECK(decides({"ULDC UR7, c[0x0][0x220]", "UISETP.EQ.AND UP0, UPT, UR7, 0x3, UPT"}, "@UP0 " + unguarded));
    CHECK(decides({"ULDC UR7, c[0x0][0x220]", "UISETP.NE.AND UP0, UPT, UR7, 0x3, UPT"}, "@!UP0 " + unguarded));
    CHECK(decides({"ULDC UR7, c[0x0][0x220]", "UISETP.NE.AND UP0, UPT, UR7, 0x3, UPT", "BRA.U UP0, 0x50"}, unguarded));
    CHECK(decides({mode, "ISETP.GT.U32.AND P1, PT, R9, 0x2, PT", "ISETP.LT.AND P0, PT, R9, 0x4, P1"}, load));
    CHECK(decides({mode, "ISETP.LT.AND P1, PT, R9, 0x3, PT", "ISETP.GE.OR P1, PT, R9, 0x4, P1"}, "@!P1 " + unguarded));
    CHECK(decides({"LDC.U8 R9, c[0x0][0x220]", "LOP3.LUT P0, RZ, R9, 0x1, RZ, 0xc0, !PT"}, load));
    CHECK(decides({"LDC.64 R8, c[0x0][0x220]", "ISETP.EQ.U32.AND P1, PT, R8, 0x3, PT", "ISETP.EQ.AND.EX P0, PT, R9, 0x7, PT, P1"}, load));
    // Also where it depends on a number of the run whether it runs at all.
    CHECK(decides({mode, "ISETP.EQ.AND P1, PT, R20, RZ, PT", "ISETP.EQ.AND P0, PT, R9, 0x3, P1"}, load));
    CHECK(decides({mode, compare, "S2R R9, SR_TID.X", "@P1 IADD3 R9, R9, 0x1, RZ", "BAR.SYNC.DEFER_BLOCKING 0x0"}, load));
    // The upper half alone can say no.
    CHECK(decides({mode, "ISETP.EQ.U32.AND P1, PT, R20, 0x3, PT", "ISETP.EQ.AND.EX P0, PT, R9, 0x3, PT, P1"}, load));
    // A loop in which it stays as it is.
    CHECK(decides({mode, "IADD3 R7, R7, 0x1, RZ", compare, "ISETP.NE.AND P1, PT, R7, R20, PT", "@P1 BRA 0x20"}, load));
    // Signs count.
    const auto sixth = [&](const std::string& how) {
        return with({"LDC R9, c[0x0][0x228]", "ISETP." + how + " P0, PT, R9, 0x1, PT"}, 0, load);
    };
    CHECK_EQ(sixth("GT.AND"), "[0]");
    CHECK_EQ(sixth("GT.U32.AND"), "?");
    CHECK_EQ(sixth("LE.AND"), "?");
    CHECK_EQ(sixth("LE.U32.AND"), "[0]");

    // What decides is not known, or not at that place any more: unknown in both.
    const std::vector<std::vector<std::string>> undecided = {
        {"LDG.E R9, desc[UR4][R8.64]", compare},
        {"S2R R9, SR_CTAID.X", compare},
        {"LDC R9, c[0x0][0x20]", compare},
        {"LDC R9, c[0x0][0x250]", compare},
        {"LDC R9, c[0x3][0x10]", compare},
        {"LDC R9, c[0x0][R7+0x220]", compare},
        {"LDS R9, [R7]", compare},
        {mode, "ISETP.EQ.AND P0, PT, R9, R20, PT"},
        {mode, "ISETP.EQ.OR P0, PT, R9, 0x3, P2"},
        {mode, "ISETP.EQ.XOR P0, PT, R9, 0x3, P2"},
        {mode, "ISETP.EQ.AND P0, PT, |R9|, 0x3, PT"},
        {mode, "ISETP.EQ.AND P0, PT, -R9, 0x3, PT"},
        {mode, "ISETP.EQ.S64.AND P0, PT, R9, 0x3, PT"},
        {mode, "ISETP.EQ.AND P1, P0, R9, 0x3, PT"},
        {mode, "FSETP.EQ.AND P0, PT, R9, 0x3, PT"},
        {mode, "IADD3 R9, R9, R7, RZ", compare},
        {mode, "IADD3.X R9, R9, 0x1, RZ, P1, !PT", compare},
        {mode, "IMAD R9, R9, R7, RZ", compare},
        {mode, "LOP3.LUT R9, R9, 0x1, RZ, 0x3c, !PT", compare},
        {mode, "@P1 MOV R9, 0x3", compare},
        {mode, "@UP1 MOV R9, 0x3", compare},
        {mode, "LDS.64 R8, [R7]", compare},
        {mode, "LDS.128 R8, [R7]", compare},
        {mode, "FROM.OUTER.SPACE R20, R21", compare},
        {mode, "CALL.ABS.NOINC R20", compare},
        {mode, "SHFL.IDX PT, R9, R20, R7, 0x1f", compare},
        {mode, compare, "ISETP.NE.AND P0, PT, R20, RZ, PT"},
        {mode, compare, "@P1 ISETP.NE.AND P0, PT, R20, RZ, PT"},
        {mode, compare, "ISETP.NE.AND P1, P0, R20, RZ, PT"},
        {mode, compare, "IADD3 R20, P0, R20, R20, RZ"},
        {mode, compare, "R2P PR, R20, 0x1"},
        {mode, compare, "VOTE.ANY P0, P0"},
        {mode, compare, "PLOP3.LUT P0, PT, P0, P1, PT, 0xfc, 0x0"},
        {mode, compare, "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R20"},
        // Written on one of two ways, or the next time around.
        {mode, "@P1 BRA 0x40", "MOV R9, R20", compare},
        {mode, compare, "@P1 BRA 0x50", "ISETP.NE.AND P0, PT, R20, RZ, PT"},
        {mode, compare, "MOV R9, R20", "@P1 BRA 0x20"},
        {mode, "BSSY B0, 0x50", "@P1 BREAK B0", "MOV R9, R20", compare, "BSYNC B0"},
    };
    for (const auto& middle : undecided)
        for (const uint32_t number : {2u, 3u}) CHECK_EQ(middle.back() + " " + with(middle, number, load), middle.back() + " ?");
    const std::vector<std::string> uniform = {"ULDC UR7, c[0x0][0x220]", "UISETP.EQ.AND UP0, UPT, UR7, 0x3, UPT"};
    for (const char* pair : {"CS2UR UR6, SR_CLOCKLO", "ULEPC UR6", "UIMAD.WIDE UR6, UR8, UR9, URZ"})
        for (const uint32_t number : {2u, 3u}) CHECK_EQ(with({uniform[0], pair, uniform[1]}, number, "@UP0 " + unguarded), "?");
    for (const char* writes : {"UIADD3 UR8, UP0, UR8, UR9, URZ", "UISETP.NE.AND UP1, UP0, UR8, URZ, UPT", "UR2UP UPR, UR8, 0x7f",
                               "ELECT UP0, UR8, PT", "VOTEU.ANY UP0, P0", "FROM.OUTER.SPACE UR9, UR8"}) {
        std::vector<std::string> middle = uniform;
        middle.emplace_back(writes);
        for (const uint32_t number : {2u, 3u}) CHECK_EQ(with(middle, number, "@UP0 " + unguarded), "?");
    }
    // Branches whose condition is another, or that say more than they do.
    for (const char* branch : {"@P0 BRA.DIV UR4, 0x50", "@P1 BRA 0x50", "BRA P1, 0x50", "@P0 BRA.CONV UR4, 0x50", "@P0 BRA 0x40"})
        for (const uint32_t number : {2u, 3u}) CHECK_EQ(with({mode, "ISETP.NE.AND P0, PT, R9, 0x3, PT", branch}, number, unguarded), "?");
    CHECK_EQ(with({mode, "ISETP.NE.AND P0, PT, R9, 0x3, PT", "@P0 BRA 0x50"}, 2, "BSSY B0, 0x40"), "[0]");
    // A pointer that was in the stack, or in shared memory, comes from there whatever the launch says.
    CHECK_EQ(with({mode, compare, "LDS.64 R2, [R7]"}, 2, "@P0 LDC.64 R2, c[0x0][0x210]"), "?");
    // The load always runs, whatever the guard of the instruction says with which its block begins.
    for (const uint32_t number : {2u, 3u}) CHECK_EQ(with({mode, compare, "@P1 BRA 0x60", "@P0 MOV R20, R21"}, number, unguarded), "?");
    // One that two loads may have brought.
    CHECK_EQ(with({mode, compare, "@P1 LDG.E.64 R2, desc[UR4][R8.64]"}, 2, load), "?");
    // The store itself does not run.
    CHECK_EQ(with({mode, "ISETP.NE.AND P0, PT, R9, 0x3, PT", "LDS.64 R2, [R7]", "@P0 EXIT"}, 2, "NOP"), "-");
    CHECK_EQ(with({mode, "ISETP.NE.AND P0, PT, R9, 0x3, PT", "LDS.64 R2, [R7]", "@P0 EXIT"}, 3, "NOP"), "?");
    // Parameters that are fewer than expected say nothing.
    CHECK_EQ(at_launch(function_of({pointer, mode, compare, load, store}), {0x1000, 0x7f00, 0, 0}), "?");

    // An indirect branch whose places are not known, or not in the code.
    Function jumping = function_of({pointer, "LDC R9, c[0x2][R9]", "BRX R8 -0x20", "LDS.64 R2, [R7]", store});
    CHECK_EQ(summary(jumping), "ST ?");
    jumping.branches = {{0x20, {0x40}}};
    CHECK_EQ(summary(jumping), "ST [0]");
    jumping.branches = {{0x20, {0x40, 0x30}}};
    CHECK_EQ(summary(jumping), "ST ?");
    for (const BranchTargets& wrong : {BranchTargets{{0x20, {0x40, 0x48}}}, BranchTargets{{0x10, {0x40}}}, BranchTargets{{0x20, {}}}}) {
        jumping.branches = wrong;
        CHECK_EQ(summary(jumping), "ST ?");
    }
}

void odd_input() {
    CHECK(roots_of({}, kArea, {}).empty());
    CHECK(roots_of(listing_of({0}, {"EXIT"}), kArea, {{0, 5}}).front().unknown);
    for (const char* text : {"LDG.E R0, [", "LDG.E R0, ]", "LDG.E R0, desc[UR4][R2.64+x]", "LDG.E R0, [R999]", "LDG.E R254, [R254]"}) {
        const Listing listing = listing_of({0}, {text});
        if (listing.lines[0]) CHECK(roots_of(listing, kArea, {{0, 1}}).front().unknown);
    }
    CHECK(!address_operand(*parse_sass("LDC R0, c[0x0][0x28]"), 0));
    CHECK_EQ(*address_operand(*parse_sass("LDGSTS.E [R9], desc[UR6][R2.64]"), 1), 1u);
    // A large area.
    CHECK_EQ(after({"LDC.64 R2, c[0x0][0x7210]", "LDG.E R0, [R2.64]"}, ParameterArea{0x210, 0x7ffc}), "LD [3584]");
}

// --- Parameters ---

void layout() {
    const std::string bytes = test::read("launcher.sm_90.cubin");
    const auto cubin = Cubin::parse(bytes, nullptr);
    CHECK(cubin.has_value());
    const auto parameters = parameters_of(*cubin);
    for (const char* kernel : {"_Z5childPi", "_Z6parentPi", "_Z9bystanderPi"}) {
        CHECK(parameters.count(kernel) == 1);
        const KernelParameters& one = parameters.at(kernel);
        CHECK_EQ(one.area.base, 0x210u);
        CHECK_EQ(one.area.bytes, 8u);
        CHECK_EQ(one.list.size(), 1u);
        CHECK_EQ(one.list.front().offset, 0u);
        CHECK_EQ(one.list.front().bytes, 8u);
    }
    // Parameters that are told in a form that is not known, as large ones are: nothing is known of any.
    std::string others = bytes;
    const std::string parameter("\x04\x17\x0c\x00", 4);
    size_t changed = 0;
    for (size_t at = others.find(parameter); at != others.npos; at = others.find(parameter, at), ++changed) others[at + 1] = 0x45;
    CHECK(changed >= 3);
    CHECK(parameters_of(*Cubin::parse(others, nullptr)).empty());
}

void switches() {
    const std::string bytes = test::read("switch.sm_90.cubin");
    const auto cubin = Cubin::parse(bytes, nullptr);
    CHECK(cubin.has_value());
    const auto branches = branch_targets_of(*cubin);
    CHECK_EQ(branches.size(), 1u);
    // As cuobjdump shows them.
    CHECK(branches.at("_Z6chosenPfii") == (BranchTargets{{0xd0, {0x140, 0xe0, 0x1070}}, {0x920, {0x990, 0x1030, 0x930}}}));
    // Damaged anywhere, it is read without harm.
    for (size_t i = 0; i < bytes.size(); i += 7) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
        if (const auto other = Cubin::parse(damaged, nullptr)) branch_targets_of(*other);
    }
}

}  // namespace

int main() {
    kernels();
    launches();
    unread();
    sources();
    chosen();
    maps();
    arithmetic();
    multiples();
    stack();
    control();
    decisions();
    odd_input();
    layout();
    switches();
    return test::summary("roots");
}
