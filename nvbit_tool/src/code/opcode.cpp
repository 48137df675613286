#include "code/opcode.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace snoopie {

namespace {

using Kind = Opcode::Kind;

struct Known {
    std::string_view name;
    Kind kind;
    Operation operation;
    uint8_t reference;
};

constexpr std::array kKnown = {
    Known{"LDG", Kind::addressed, Operation::load, 0},       Known{"LD", Kind::addressed, Operation::load, 0},
    Known{"STG", Kind::addressed, Operation::store, 0},      Known{"ST", Kind::addressed, Operation::store, 0},
    Known{"ATOM", Kind::addressed, Operation::atomic, 0},    Known{"ATOMG", Kind::addressed, Operation::atomic, 0},
    Known{"RED", Kind::addressed, Operation::reduction, 0},  Known{"REDG", Kind::addressed, Operation::reduction, 0},
    Known{"LDGSTS", Kind::addressed, Operation::load, 1},  // [0] is the shared destination
    Known{"LDGMC", Kind::addressed, Operation::load, 0},     Known{"UBLKCP", Kind::bulk, Operation::load, 0},
    Known{"UBLKRED", Kind::bulk, Operation::reduction, 0},   Known{"UTMALDG", Kind::tensor, Operation::load, 1},
    Known{"UTMASTG", Kind::tensor, Operation::store, 1},     Known{"UTMAREDG", Kind::tensor, Operation::reduction, 1},
    Known{"TEX", Kind::unmeasured, Operation::load, 0},      Known{"TLD", Kind::unmeasured, Operation::load, 0},
    Known{"TLD4", Kind::unmeasured, Operation::load, 0},     Known{"TXD", Kind::unmeasured, Operation::load, 0},
    Known{"SULD", Kind::unmeasured, Operation::load, 0},     Known{"SUST", Kind::unmeasured, Operation::store, 0},
    Known{"SUATOM", Kind::unmeasured, Operation::atomic, 0}, Known{"SURED", Kind::unmeasured, Operation::reduction, 0},
    Known{"USTGR", Kind::unmeasured, Operation::store, 0},   Known{"UREDGR", Kind::unmeasured, Operation::reduction, 0},
};

// These are filed under a memory space but move no data to or from another GPU's memory: prefetches, cache control, queries,
// shared memory of a cluster.
constexpr std::array<std::string_view, 16> kNoData = {"FENCE", "QSPC",  "UBLKPF",  "UTMAPF",   "UTMACCTL", "UTMACMDFLUSH",
                                                      "STAS",  "REDAS", "CCTL",    "CCTLL",    "SYNCS",    "MEMBAR",
                                                      "LDCU",  "TXQ",   "SUQUERY", "LDGDEPBAR"};

struct Width {
    std::string_view modifier;
    uint8_t bytes;
};

constexpr std::array kWidths = {
    Width{"U8", 1},      Width{"S8", 1},      Width{"8", 1},        Width{"U16", 2},      Width{"S16", 2},     Width{"16", 2},
    Width{"U32", 4},     Width{"S32", 4},     Width{"32", 4},       Width{"F32", 4},      Width{"F16x2", 4},   Width{"F16X2", 4},
    Width{"F16_V2", 4},  Width{"BF16x2", 4},  Width{"BF16X2", 4},   Width{"BF16_V2", 4},  Width{"64", 8},      Width{"U64", 8},
    Width{"S64", 8},     Width{"F64", 8},     Width{"F32x2", 8},    Width{"F32X2", 8},    Width{"F32_V2", 8},  Width{"F16x4", 8},
    Width{"F16X4", 8},   Width{"F16_V4", 8},  Width{"BF16x4", 8},   Width{"BF16X4", 8},   Width{"BF16_V4", 8}, Width{"128", 16},
    Width{"F32x4", 16},  Width{"F32X4", 16},  Width{"F32_V4", 16},  Width{"F16x8", 16},   Width{"F16X8", 16},  Width{"F16_V8", 16},
    Width{"BF16x8", 16}, Width{"BF16X8", 16}, Width{"BF16_V8", 16}, Width{"256", 32},     Width{"E4M3x4", 4},  Width{"E5M2x4", 4},
    Width{"E4M3x8", 8},  Width{"E5M2x8", 8},  Width{"E4M3x16", 16}, Width{"E5M2x16", 16},
};

// The last modifier that is a width wins (LDG.E.ENL2.256; ATOMG.E.CAS.64). Without one an access has 4 bytes.
uint8_t width_of(std::string_view modifiers) {
    uint8_t width = 4;
    while (!modifiers.empty()) {
        const size_t dot = std::min(modifiers.find('.'), modifiers.size());
        const std::string_view modifier = modifiers.substr(0, dot);
        for (const Width& known : kWidths)
            if (known.modifier == modifier) width = known.bytes;
        modifiers.remove_prefix(std::min(dot + 1, modifiers.size()));
    }
    return width;
}

bool has_modifier(std::string_view modifiers, std::string_view wanted) {
    for (size_t at = modifiers.find(wanted); at != std::string_view::npos; at = modifiers.find(wanted, at + 1)) {
        const size_t end = at + wanted.size();
        if ((at == 0 || modifiers[at - 1] == '.') && (end == modifiers.size() || modifiers[end] == '.')) return true;
    }
    return false;
}

// UBLKCP.S.G, UBLKCP.G.S, UBLKRED.G.S: where to and where from, S = shared, G = global. A byte mask leaves out bytes of each unit.
void decode_bulk(std::string_view modifiers, Opcode* opcode) {
    opcode->width = 16;
    if (modifiers.rfind("G.S", 0) == 0) {
        if (opcode->operation == Operation::load) opcode->operation = Operation::store;
    } else if (modifiers.rfind("S.G", 0) == 0) {
        opcode->reference = 1;
    } else {
        opcode->kind = modifiers.rfind("S.S", 0) == 0 ? Kind::local : Kind::unmeasured;
    }
    if (has_modifier(modifiers, "DST_G_BYTE_MASK")) opcode->kind = Kind::unmeasured;
}

// UTMALDG.2D [UR8], [UR4]: UR4 holds the tensor map's address; UR8 the place in shared memory, of a load then its barrier, and then the
// coordinates. Other forms than plain tiles have other boxes.
void decode_tensor(std::string_view modifiers, Opcode* opcode) {
    opcode->width = 1;
    opcode->coordinates = opcode->operation == Operation::load ? 2 : 1;
    if (modifiers.size() >= 2 && modifiers[0] >= '1' && modifiers[0] <= '5' && modifiers[1] == 'D')
        opcode->rank = static_cast<uint8_t>(modifiers[0] - '0');
    bool plain = opcode->rank > 0;
    for (const std::string_view other : {"IM2COL", "W", "W128", "GATHER4", "SCATTER4"}) plain = plain && !has_modifier(modifiers, other);
    if (!plain) opcode->kind = Kind::unmeasured;
}

}  // namespace

Opcode decode_opcode(std::string_view full_opcode, bool touches_memory) {
    const size_t dot = std::min(full_opcode.find('.'), full_opcode.size());
    const std::string_view name = full_opcode.substr(0, dot);
    for (const Known& known : kKnown) {
        if (known.name != name) continue;
        const std::string_view modifiers = full_opcode.substr(std::min(dot + 1, full_opcode.size()));
        Opcode opcode;
        opcode.kind = known.kind;
        opcode.operation = known.operation;
        opcode.reference = known.reference;
        if (known.kind == Kind::addressed) opcode.width = width_of(modifiers);
        if (known.kind == Kind::bulk) decode_bulk(modifiers, &opcode);
        if (known.kind == Kind::tensor) decode_tensor(modifiers, &opcode);
        return opcode;
    }
    Opcode opcode;
    if (touches_memory && std::find(kNoData.begin(), kNoData.end(), name) == kNoData.end()) opcode.kind = Kind::unmeasured;
    return opcode;
}

bool names_memory(std::string_view sass) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '{'; };
    const auto skip = [&](const auto& while_so) {
        while (!sass.empty() && while_so(sass.front())) sass.remove_prefix(1);
    };
    skip(blank);
    if (!sass.empty() && sass.front() == '@') skip([&](char c) { return !blank(c); });
    skip(blank);
    if (!sass.empty() && sass.front() == 'T') return true;
    for (size_t at = sass.find('['); at != sass.npos; at = sass.find('[', at + 1)) {
        size_t begin = at;
        while (begin > 0 && (std::isalnum(static_cast<unsigned char>(sass[begin - 1])) || sass[begin - 1] == '_')) --begin;
        const std::string_view of = sass.substr(begin, at - begin);
        const bool goes_on = at > 0 && sass[at - 1] == ']';  // c[0x0][0x160]: the bank decided
        if (!goes_on && of != "c" && of != "cx") return true;
    }
    return false;
}

}  // namespace snoopie
