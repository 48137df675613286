// What a probe computes, with a simulated warp; the plan of probes; the host's end of the ring.
#include <array>
#include <bitset>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "check.h"
#include "code/opcode.h"
#include "code/pack_words.h"
#include "code/probe_plan.h"
#include "probe/probe_logic.h"
#include "probe/record_ring.h"
#include "trace/site_word.h"

using namespace snoopie;

namespace {

// Values of the 32 lanes, with the operators that probe_logic.h uses on them.
template <class T>
struct Lanes {
    std::array<T, 32> at{};

    template <class F>
    auto map(F f) const {
        Lanes<decltype(f(T{}))> out;
        for (size_t i = 0; i < 32; ++i) out.at[i] = f(at[i]);
        return out;
    }
    template <class F>
    auto join(const Lanes& other, F f) const {
        Lanes<decltype(f(T{}, T{}))> out;
        for (size_t i = 0; i < 32; ++i) out.at[i] = f(at[i], other.at[i]);
        return out;
    }
    Lanes operator>>(int bits) const {
        return map([=](T v) { return v >> bits; });
    }
    Lanes operator<<(int bits) const {
        return map([=](T v) { return v << bits; });
    }
    Lanes operator*(T factor) const {
        return map([=](T v) { return v * factor; });
    }
    Lanes operator&(T mask) const {
        return map([=](T v) { return v & mask; });
    }
    Lanes operator|(T mask) const {
        return map([=](T v) { return v | mask; });
    }
    auto operator==(T value) const {
        return map([=](T v) { return v == value; });
    }
    auto operator!=(T value) const {
        return map([=](T v) { return v != value; });
    }
    Lanes operator-(const Lanes& o) const {
        return join(o, [](T a, T b) { return a - b; });
    }
    Lanes operator+(const Lanes& o) const {
        return join(o, [](T a, T b) { return a + b; });
    }
    Lanes operator^(const Lanes& o) const {
        return join(o, [](T a, T b) { return a ^ b; });
    }
    Lanes operator|(const Lanes& o) const {
        return join(o, [](T a, T b) { return a | b; });
    }
    Lanes operator&(const Lanes& o) const {
        return join(o, [](T a, T b) { return a & b; });
    }
    auto operator!=(const Lanes& o) const {
        return join(o, [](T a, T b) { return a != b; });
    }
};

struct SimulatedWarp {
    using U64 = Lanes<uint64_t>;
    using U32 = Lanes<uint32_t>;

    uint32_t ballot(uint32_t group, const Lanes<bool>& value) const {
        uint32_t mask = 0;
        for (uint32_t lane = 0; lane < 32; ++lane)
            if (value.at[lane]) mask |= 1u << lane;
        return mask & group;
    }
    uint64_t broadcast(uint32_t group, const U64& value, uint32_t from) const {
        CHECK(group >> from & 1);
        return value.at[from];
    }
    U64 lane() const { return ramp(0, 1, 0); }
    U32 lanes_below() const {
        return lane().map([](uint64_t l) { return (1u << l) - 1; });
    }
    bool match_all(uint32_t group, const U64& value) const {
        std::set<uint64_t> seen;
        for (uint32_t lane = 0; lane < 32; ++lane)
            if (group >> lane & 1) seen.insert(value.at[lane]);
        return seen.size() == 1;
    }
    U32 match_any(uint32_t group, const U32& value) const { return match_any(group, wide(value)); }
    U32 match_any(uint32_t group, const U64& value) const {
        return value.map([&](uint64_t own) {
            uint32_t mask = 0;
            for (uint32_t lane = 0; lane < 32; ++lane)
                if (group >> lane & 1 && value.at[lane] == own) mask |= 1u << lane;
            return mask;
        });
    }
    U64 wide(const U32& value) const {
        return value.map([](uint32_t v) { return uint64_t{v}; });
    }
    U32 low(const U64& value) const {
        return value.map([](uint64_t v) { return static_cast<uint32_t>(v); });
    }
    U32 all(uint32_t value) const {
        return U32().map([=](uint32_t) { return value; });
    }
    U32 one_if(const Lanes<bool>& value) const {
        return value.map([](bool v) { return v ? 1u : 0u; });
    }
    U32 count(const U32& masks) const {
        return masks.map([](uint32_t mask) { return count_bits(mask); });
    }
    bool is_all(const U32& value, uint32_t lanes) const {
        for (uint32_t lane = 0; lane < 32; ++lane)
            if (lanes >> lane & 1 && value.at[lane] != lanes) return false;
        return true;
    }
    U32 choose(const Lanes<bool>& condition, const U32& one, const U32& other) const {
        U32 out;
        for (uint32_t lane = 0; lane < 32; ++lane) out.at[lane] = condition.at[lane] ? one.at[lane] : other.at[lane];
        return out;
    }
    // Page bytes up to kOwners are those of owners, whose objects have the further ones in turn.
    static constexpr uint32_t kOwners = 3;
    U32 owner_byte(const U32& page_byte) const {
        return page_byte.map([](uint32_t byte) { return (byte - 1) % kOwners + 1; });
    }
    U64 ramp(uint64_t base, int64_t stride, uint32_t lowest) const {
        U64 out;
        for (uint32_t lane = 0; lane < 32; ++lane) out.at[lane] = base + static_cast<uint64_t>(stride) * (lane - lowest);
        return out;
    }
};

const SimulatedWarp kWarp;

// One that executes an access of this site.
struct AccessingWarp : SimulatedWarp {
    uint32_t site_word_;

    explicit AccessingWarp(uint32_t site_word) : site_word_(site_word) {}
    uint32_t large_units() const { return snoopie::large_units(site_word_); }
    U32 less_full(const U32& units) const {
        return units.map([this](uint32_t count) { return count - full_units(site_word_); });
    }
};

Lanes<uint64_t> ramp(uint64_t base, int64_t stride) { return kWarp.ramp(base, stride, 0); }

uint32_t units_by_hand(uint32_t group, const Lanes<uint64_t>& address, uint32_t unit) {
    std::set<uint64_t> units;
    for (uint32_t lane = 0; lane < 32; ++lane)
        if (group >> lane & 1) units.insert(address.at[lane] / unit);
    return static_cast<uint32_t>(units.size());
}

// Of one owner: what every lane of the group has to find, as bytes on the wire if it reads and if it writes.
void check_group(uint32_t lanes, const Lanes<uint64_t>& address, uint8_t width, uint32_t read, uint32_t written) {
    for (const Operation operation : {Operation::load, Operation::store, Operation::atomic, Operation::reduction}) {
        auto page_byte = kWarp.all(7);
        const uint32_t word = site_word(5, operation, width);
        const auto group = group_of(AccessingWarp(word), lanes, address, &page_byte, word);
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if (!(lanes >> lane & 1)) continue;
            CHECK_EQ(group.lanes.at[lane], lanes);
            const uint32_t units = group.extra_units.at[lane] + full_units(word);
            CHECK_EQ(units * wire_unit(operation, width), operation == Operation::load ? read : written);
            CHECK_EQ(page_byte.at[lane], 7u);  // told apart
        }
    }
}

void groups() {
    constexpr uint32_t all = 0xFFFFFFFF;
    for (const uint8_t width : {1, 2, 4, 8, 16, 32}) {
        const uint32_t bytes = 32u * width;
        // Side by side: no more than the bytes. From the middle of a sector, a load moves both halves of the first and of the last.
        check_group(all, ramp(0x1000, width), width, bytes, bytes);
        if (width < 32) check_group(all, ramp(0x1010, width), width, bytes + 32, bytes);
        // From within a unit, both have one more.
        if (width < 16) check_group(all, ramp(0x1008, width), width, bytes + 32, bytes + 16);
        if (width < 16) check_group(all, ramp(0x1018, width), width, bytes + 32, bytes + 16);
        // Apart: a unit each, but a lane of 32 bytes has two halves.
        const uint32_t each = width == 32 ? 32 : 16;
        check_group(all, ramp(0x1000, 32), width, 32 * 32, 32 * each);
        check_group(all, ramp(0x1000, 4096), width, 32 * 32, 32 * each);
        check_group(all, ramp(0x1000, 0), width, 32, each);
        check_group(0x80000000u, ramp(0x1000, 32), width, 32, each);
        check_group(0x00010001u, ramp(0x1000, 32), width, 64, 2 * each);
    }
    // Two lanes share a sector, but not its halves.
    check_group(all, ramp(0x1000, 16), 4, 16 * 32, 32 * 16);
    check_group(all, ramp(0x1000, 16), 16, 16 * 32, 32 * 16);
    check_group(0b1111, ramp(0x1000, 8), 8, 32, 32);
    check_group(0b1001, ramp(0x1000, 8), 8, 32, 32);
    check_group(0b0011, ramp(0x1000, 8), 8, 32, 16);
    check_group(0b0110, ramp(0x1000, 8), 8, 32, 32);
    check_group(all, ramp(0x2000, -4), 4, 5 * 32, 9 * 16);  // descending, and 0x2000 begins a unit of its own

    std::mt19937_64 random(1);
    for (int round = 0; round < 4000; ++round) {
        const auto width = static_cast<uint8_t>(1u << (random() % 6));
        const auto operation = static_cast<Operation>(random() % 4);
        const uint32_t word = site_word(static_cast<uint32_t>(random()) & kMaxSiteId, operation, width);
        const uint32_t unit = operation == Operation::load || width == 32 ? 32 : 16;
        const uint64_t span = 1ull << (4 + random() % 10);
        const auto bytes = static_cast<uint32_t>(1 + random() % 7);
        const auto first = static_cast<uint32_t>(1 + random() % 7);
        const bool dense = random() % 4 == 0;
        Lanes<uint64_t> address = ramp(0x7f0000000000 + random() % 64 * width, width);
        Lanes<uint32_t> page_byte;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if (!dense) address.at[lane] = 0x7f0000000000 + random() % span * width;
            page_byte.at[lane] = first + static_cast<uint32_t>((address.at[lane] >> 5) * 0x9E3779B97F4A7C15 >> 40) % bytes;
        }
        const uint32_t lanes = round % 3 ? static_cast<uint32_t>(random()) | 1u << (random() % 32) : all;
        const auto owner = kWarp.owner_byte(page_byte);
        auto counted = page_byte;
        const auto group = group_of(AccessingWarp(word), lanes, address, &counted, word);
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if (!(lanes >> lane & 1)) continue;
            uint32_t own = 0;
            bool one = true;
            for (uint32_t other = 0; other < 32; ++other) {
                if (!(lanes >> other & 1) || owner.at[other] != owner.at[lane]) continue;
                own |= 1u << other;
                one &= page_byte.at[other] == page_byte.at[lane];
            }
            CHECK_EQ(counted.at[lane], one ? page_byte.at[lane] : owner.at[lane]);
            CHECK_EQ(group.lanes.at[lane], own);
            CHECK_EQ(group.extra_units.at[lane] + 32u * width / unit, units_by_hand(own, address, unit));
            if (group.dense) CHECK(own == all && address.at[lane] == address.at[0] + lane * width);
        }
    }
}

void shapes() {
    std::mt19937_64 random(2);
    for (int round = 0; round < 2000; ++round) {
        const uint32_t group = static_cast<uint32_t>(random()) | 1u << (random() % 32);
        const int64_t stride = static_cast<int64_t>(random() % 4096) - 2048;
        const uint64_t base = 0x7f0000000000 + random() % 100000;
        const uint32_t lowest = lowest_lane(group);
        Lanes<uint64_t> address = kWarp.ramp(base, stride, lowest);
        const bool alone = (group & (group - 1)) == 0;
        const Shape even = shape_of(kWarp, group, address);
        CHECK(even.strided);
        CHECK_EQ(even.base, base);
        CHECK_EQ(even.stride, alone ? 0 : stride);
        // Lanes outside the group do not matter; one lane of it does.
        for (uint32_t lane = 0; lane < 32; ++lane)
            if (!(group >> lane & 1)) address.at[lane] = random();
        CHECK(shape_of(kWarp, group, address).strided);
        if (std::bitset<32>(group).count() >= 3) {
            const uint32_t highest = 31 - static_cast<uint32_t>(__builtin_clz(group));
            address.at[highest] += 4;
            CHECK(!shape_of(kWarp, group, address).strided);
        }
    }
    // Strides beyond 32 bits: exact between neighbours, otherwise scattered rather than wrong.
    const int64_t far = int64_t{1} << 40;
    CHECK(shape_of(kWarp, 0b11, ramp(0x1000, far)).stride == far);
    CHECK(!shape_of(kWarp, 0b101, ramp(0x1000, far)).strided);
}

void sampling() {
    for (uint32_t clock = 0; clock < 100; ++clock) CHECK(sampled(clock, 0, 1));
    for (const uint32_t n : {2u, 10u, 100u, 1000u}) {
        // Whichever of the two numbers changes, and in whatever steps: 1/n each time, within five standard deviations.
        const double expected = 1e6 / n;
        const double tolerance = 5 * std::sqrt(expected);
        uint64_t times = 0, places = 0, both = 0, steps = 0;
        for (uint32_t i = 0; i < 1000000; ++i) {
            times += sampled(i, 0x7f000000, n);
            places += sampled(1000, i, n);
            both += sampled(500 * i, 3 * i, n);
            steps += sampled(i * 4096, 1, n);
        }
        for (const uint64_t count : {times, places, both, steps}) CHECK(std::abs(static_cast<double>(count) - expected) < tolerance);
    }
}

void packing() {
    for (const uint32_t steps : {0u, 1u, kMostSlotSteps}) {
        const uint64_t value = pack_launch(0xFFFE, 61, steps, 0xFFFFFFF0);
        CHECK_EQ(launch_slot(value), 0xFFFE);
        CHECK_EQ(launch_mark(value), launch_mark_of(61));
        CHECK(is_launch(launch_mark(value)));
        CHECK_EQ(launch_slots(value, 5), 5 + steps * kSlotStep);
        // Site 0 would be before the arena: that is modulo 2^32.
        CHECK_EQ(cell_of(value, 3, 8, 2), 10u);
    }
    // Neighbouring slots and sites have neighbouring cells.
    CHECK_EQ(cell_of(pack_launch(0, 0, 0, 100), 4, 5, 4) + 1, cell_of(pack_launch(0, 0, 0, 100), 5, 5, 0));
    for (const uint64_t no_value : {kLaunchUncounted, ~uint64_t{0}, uint64_t{0x7f0012345678}}) CHECK(!is_launch(launch_mark(no_value)));
    // Cells for launch values lie where they say, each by itself, and their value is none of a launch.
    for (const uint8_t gpu : {0, 1, 63}) {
        for (const uint32_t cell : {0u, kCellsOfGpu - 1}) {
            const uint64_t value = pack_launch_cell(gpu, cell);
            CHECK(is_launch_cell(value) && !is_launch(launch_mark(value)));
            CHECK_EQ(static_cast<uint32_t>(value), kCells + (gpu * kCellsOfGpu + cell) * 8);
            CHECK(static_cast<uint32_t>(value) < kPacks);
        }
        CHECK(!is_launch_cell(pack_launch(kCellWord >> 16, gpu, kMostSlotSteps, 7)));
    }
    CHECK(!is_launch_cell(kLaunchUncounted));
    // What a pack is told: the place as it is, the margin never too small, and too large by less than two units of it.
    for (const uint32_t place : {0u, 2u, 0x7fffeu, (1u << kLog2PackWords) - 2}) {
        for (const uint32_t margin : {0u, 1u, 4u, 64u, 65u, 4096u, kMaxPackMargin}) {
            const uint32_t word = pack_word(place, margin);
            CHECK_EQ(packed_place(word), place);
            CHECK(packed_margin(word) >= margin && packed_margin(word) < margin + 2 * (1u << kLog2MarginUnit));
        }
    }
    for (const int32_t immediate : {0, 4, -4, static_cast<int32_t>(kMaxPackMargin), -static_cast<int32_t>(kMaxPackMargin)}) {
        for (uint32_t pair = 0; pair < kMostPairs; ++pair) {
            const uint32_t word = pack_access(immediate, pair, kPackedGuarded | kPackedNegated);
            CHECK_EQ(packed_immediate(word), immediate);
            CHECK_EQ(packed_pair(word), pair);
            CHECK(packed_executes(word, false) && !packed_executes(word, true) && !(word & kPackedLast));
        }
    }
    CHECK(packed_executes(pack_access(0, 0, kPackedGuarded), true) && !packed_executes(pack_access(0, 0, kPackedGuarded), false));
    CHECK(packed_executes(pack_access(0, 0, kPackedLast), false));
    for (const uint8_t width : {1, 2, 4, 8, 16, 32}) {
        for (const Operation operation : {Operation::load, Operation::store, Operation::atomic, Operation::reduction}) {
            const uint32_t word = site_word(kMaxSiteId, operation, width);
            const uint32_t unit = operation == Operation::load || width == 32 ? 32 : 16;
            CHECK_EQ(site_id(word), kMaxSiteId);
            CHECK_EQ(site_width(word), width);
            CHECK_EQ(wire_unit(operation, width), unit);
            CHECK_EQ(1u << log2_of_unit(word), unit);
            CHECK_EQ(full_units(word), 32u * width / unit);
            // What is counted of three accesses, of which one has a unit more and one half as many.
            const uint64_t extra = 1 - uint64_t{full_units(word) / 2};
            const uint64_t counters[kCounters] = {3, 0, extra};
            CHECK_EQ(units_of(counters, full_units(word)), 3 * full_units(word) + extra);
        }
    }
    // Of which nothing is known but that it ran.
    CHECK_EQ(site_width(site_word(1, Operation::load, 0)), 1u);
}

// A load can have a predicate behind its address, without which a lane reads nothing; one before it is a result.
void plan_of_loads() {
    const auto probe_of = [](const char* text, bool pair, std::vector<PredicateOperand> predicates) {
        return plan_probes({{0, text, "LDG.E", true, {{pair, false, 2, 0}}, {}, std::move(predicates)}}, true).probes[0];
    };
    const Probe last = probe_of("LDG.E R4, [R2.64], !P1", true, {{1, true}});
    CHECK(last.kind == Probe::Kind::source && last.predicate.number == 1 && last.predicate.negated);
    const Probe both = probe_of("LDG.E P3, R4, [R2.64], P0", true, {{3, false}, {0, false}});
    CHECK(both.kind == Probe::Kind::source && both.predicate.number == 0 && !both.predicate.negated);
    CHECK(probe_of("LDG.E P3, R4, [R2.64]", true, {{3, false}}).kind == Probe::Kind::registers);
    CHECK(probe_of("LDG.E R4, [R2], P1", false, {{1, false}}).kind == Probe::Kind::address);
}

void plan() {
    using Kind = Probe::Kind;
    const auto in_pair = [](int reg, int immediate) { return MemoryReference{true, false, reg, immediate}; };
    const auto in_other = [](int reg) { return MemoryReference{false, false, reg, 0}; };
    const auto in_uniform = [](int reg) { return MemoryReference{false, true, reg, 0}; };
    const std::vector<Instruction> code = {
        {0x00, "IADD3 R2, R2, R3, RZ", "IADD3", false, {}, {}, {}},
        {0x10, "LDG.E R4, desc[UR4][R2.64+0x10]", "LDG.E", true, {in_pair(2, 0x10)}, {}, {}},
        {0x20, "LDGSTS.E.128 [R5], desc[UR4][R2.64]", "LDGSTS.E.128", true, {in_other(5), in_pair(2, 0)}, {}, {}},
        {0x30, "UBLKCP.S.G [UR8], [UR4], UR6", "UBLKCP.S.G", true, {in_uniform(8), in_uniform(4)}, {6}, {}},
        {0x40, "UBLKRED.G.S.ADD [UR8], [UR4], UR7", "UBLKRED.G.S.ADD", true, {in_uniform(8), in_uniform(4)}, {7}, {}},
        {0x50, "UTMALDG.2D [UR8], [UR12]", "UTMALDG.2D", true, {in_uniform(8), in_uniform(12)}, {}, {}},
        {0x60, "UTMASTG.3D [UR16], [UR4]", "UTMASTG.3D", true, {in_uniform(16), in_uniform(4)}, {}, {}},
        {0x70, "LDG.E R4, [R2.U32+UR4]", "LDG.E", true, {in_other(2)}, {}, {}},
        {0x78, "LDGSTS.E.64.ZFILL [R5], desc[UR4][R2.64], !P1", "LDGSTS.E.64.ZFILL", true, {in_other(5), in_pair(2, 0)}, {}, {{1, true}}},
        {0x7a,
         "LDGSTS.E.BYPASS.128 [R5+0x80], [R2.64+UR12], P3",
         "LDGSTS.E.BYPASS.128",
         true,
         {in_other(5), in_other(2)},
         {},
         {{3, false}}},
        {0x7c, "ATOMG.E.ADD.STRONG.GPU PT, R4, desc[UR4][R2.64], R5", "ATOMG.E.ADD.STRONG.GPU", true, {in_pair(2, 0)}, {}, {{7, false}}},
        // What was not understood is not measured, but counted.
        {0x80, "STG.E desc[UR4][R2.64], R4", "STG.E", true, {}, {}, {}},
        {0x90, "UBLKCP.S.G [UR8], [UR4]", "UBLKCP.S.G", true, {in_uniform(8), in_uniform(4)}, {}, {}},
        {0xa0, "UTMALDG.2D [R8], [UR12]", "UTMALDG.2D", true, {in_other(8), in_uniform(12)}, {}, {}},
        {0xb0, "TEX.SCR.LL R0, R2", "TEX.SCR.LL", true, {}, {}, {}},
    };
    const ProbePlan plan = plan_probes(code, true);
    CHECK_EQ(plan.sites.size(), code.size() - 1);
    CHECK_EQ(plan.probes.size(), plan.sites.size());
    for (size_t i = 0; i < plan.sites.size(); ++i) {
        CHECK_EQ(plan.sites[i].instruction, i + 1);
        CHECK_EQ(plan.probes[i].site, i);
        CHECK(plan.sites[i].measured == (i < 10));
        CHECK(plan.sites[i].measured == (plan.probes[i].kind != Kind::executed));
    }
    CHECK(plan.probes[0].kind == Kind::registers);
    CHECK(plan.probes[1].kind == Kind::registers && plan.probes[1].reference == 1);
    CHECK(plan.probes[2].kind == Kind::bulk && plan.probes[2].reference == 1 && plan.probes[2].size_register == 6);
    CHECK(plan.probes[3].kind == Kind::bulk && plan.probes[3].reference == 0 && plan.probes[3].size_register == 7);
    CHECK(plan.probes[4].kind == Kind::tensor && plan.probes[4].reference == 1 && plan.probes[4].first_coordinate == 10 &&
          plan.probes[4].rank == 2);
    CHECK(plan.probes[5].kind == Kind::tensor && plan.probes[5].reference == 1 && plan.probes[5].first_coordinate == 17 &&
          plan.probes[5].rank == 3);
    CHECK(plan.probes[6].kind == Kind::address);
    CHECK(plan.probes[7].kind == Kind::source && plan.probes[7].reference == 1);
    CHECK(plan.probes[7].predicate.number == 1 && plan.probes[7].predicate.negated);
    CHECK(plan.probes[8].kind == Kind::source && plan.probes[8].predicate.number == 3 && !plan.probes[8].predicate.negated);
    CHECK(plan.probes[9].kind == Kind::registers);
    // Without a known layout of tensor maps their copies are only counted.
    const ProbePlan cautious = plan_probes(code, false);
    CHECK(cautious.sites[3].measured && !cautious.sites[4].measured && !cautious.sites[5].measured);
}

void packs() {
    const auto load = [](uint32_t offset, int reg, int immediate, const std::string& guard = "") {
        const std::string text = guard + "LDG.E R20, desc[UR4][R" + std::to_string(reg) + ".64+" + std::to_string(immediate) + "]";
        return Instruction{offset, text, "LDG.E", true, {MemoryReference{true, false, reg, immediate}}, {}, {}};
    };
    const int far = static_cast<int>(kMaxPackMargin) + 1;
    const std::vector<Instruction> code = {load(0x00, 2, 8),  load(0x10, 4, -100, "@!P1 "),
                                           load(0x20, 2, 0),  load(0x30, 6, far),
                                           load(0x40, 8, 16), load(0x50, 10, 0),
                                           load(0x60, 12, 0), {0x70, "EXIT", "EXIT", false, {}, {}, {}}};
    ProbePlan plan = plan_probes(code, true);
    plan.calls = plan_calls(code, listing_of(code), plan, 16);
    // One by itself that is too far from its registers; four pairs of registers fit in a call.
    std::vector<std::vector<size_t>> calls;
    for (const PlannedCall& call : plan.calls) calls.push_back(call.probes);
    CHECK((calls == std::vector<std::vector<size_t>>{{3}, {0, 1, 2, 4, 5}, {6}}));
    // Groups share no call.
    calls.clear();
    for (const PlannedCall& call : plan_calls(code, listing_of(code), plan, 16, {0, -1, 0, 0, 0, -1, 1})) calls.push_back(call.probes);
    CHECK((calls == std::vector<std::vector<size_t>>{{3}, {0, 2, 4}, {1, 5}, {6}}));
    const PackWords words = pack_words(plan.calls[1], plan, code, 100);
    CHECK((words.pairs == std::vector<int>{2, 4, 8, 10}));
    CHECK_EQ(words.margin, 100u);
    CHECK((words.description ==
           std::vector<uint32_t>{pack_access(8, 0, 0), site_word(100, Operation::load, 4),
                                 pack_access(-100, 1, kPackedGuarded | kPackedNegated), site_word(101, Operation::load, 4),
                                 pack_access(0, 0, 0), site_word(102, Operation::load, 4), pack_access(16, 2, 0),
                                 site_word(104, Operation::load, 4), pack_access(0, 3, kPackedLast), site_word(105, Operation::load, 4)}));
}

// A jump may have the guard of its instruction if all that the call does is under that guard.
void guards() {
    const auto store = [](uint32_t offset, int reg, const std::string& guard) {
        const std::string text = guard + "STG.E desc[UR4][R" + std::to_string(reg) + ".64], R20";
        return Instruction{offset, text, "STG.E", true, {MemoryReference{true, false, reg, 0}}, {}, {}};
    };
    const Instruction compare{0x00, "ISETP.NE.AND P0, PT, RZ, UR8, PT", "ISETP.NE.AND", false, {}, {}, {}};
    const auto common = [&](const std::vector<Instruction>& code, size_t packing) {
        ProbePlan plan = plan_probes(code, true);
        std::vector<bool> guards;
        for (const PlannedCall& call : plan_calls(code, listing_of(code), plan, packing)) guards.push_back(call.guard_common);
        return guards;
    };
    CHECK((common({compare, store(0x10, 2, "@!P0 ")}, 16) == std::vector<bool>{true}));
    CHECK((common({compare, store(0x10, 2, "@!P0 "), store(0x20, 4, "@!P0 ")}, 16) == std::vector<bool>{true}));
    CHECK((common({compare, store(0x10, 2, "@!P0 "), store(0x20, 4, "")}, 16) == std::vector<bool>{false}));
    CHECK((common({compare, store(0x10, 2, "@!P0 "), store(0x20, 4, "@P0 ")}, 16) == std::vector<bool>{true, true}));
    CHECK((common({compare, store(0x10, 2, ""), store(0x20, 4, "@P0 ")}, 1) == std::vector<bool>{false, true}));
    CHECK((common({compare, store(0x10, 2, "@P1 ")}, 16) == std::vector<bool>{false}));
}

// The warp's end of the ring, as ring.cuh does it.
class Producer {
  public:
    Producer(std::vector<uint64_t>* memory, uint64_t units) : memory_(*memory), units_(units) {}

    uint64_t reserve(uint32_t units) {
        const uint64_t place = tail_;
        tail_ += units;
        return place;
    }
    // The words in any order, as lanes write them; `all_but` is left out.
    static constexpr uint32_t kNone = ~0u;
    void write(uint64_t place, bool scattered, uint64_t value, uint32_t all_but = kNone) {
        const RecordHead head{
            value, value * 2, -4, value + 1, 7, 0x80000001, 9, 1, 2, scattered ? RecordShape::scattered : RecordShape::strided, 0xFFFE};
        if (scattered)
            for (uint32_t lane = 0; lane < 32; ++lane)
                if (kHeadWords + lane != all_but)
                    word(place + 1 + lane / kWordsPerUnit, lane % kWordsPerUnit, head.mask >> lane & 1 ? value + 1 + lane : 0);
        for (uint32_t i = kHeadWords; i-- > 0;)
            if (i != all_but) word(place, i, head_word(head, i));
    }

  private:
    void word(uint64_t unit, uint64_t i, uint64_t payload) {
        memory_[(unit & (units_ - 1)) * kWordsPerUnit + i] =
            (payload & kPayload) | lap_stamp(unit, static_cast<uint32_t>(__builtin_ctzll(units_)));
    }

    std::vector<uint64_t>& memory_;
    const uint64_t units_;
    uint64_t tail_ = 0;
};

void ring() {
    constexpr uint64_t kUnits = 64;
    std::vector<uint64_t> memory(kUnits * kWordsPerUnit, 0);
    uint64_t head = 0;
    RecordRing ring(memory.data(), kUnits, &head);
    Producer warps(&memory, kUnits);
    RawRecord record;
    CHECK(!ring.take(&record));

    // Many laps, more than stamps, both shapes, always finished in another order than reserved.
    uint64_t value = uint64_t{1} << 60;
    constexpr uint64_t kRounds = 800000;
    for (uint64_t round = 0; round < kRounds; ++round) {
        const uint64_t a = warps.reserve(kUnitsStrided);
        const uint64_t b = warps.reserve(kUnitsScattered);
        warps.write(b, true, value + 1);
        CHECK(!ring.take(&record));  // the first is not finished
        warps.write(a, false, value);
        CHECK(ring.take(&record));
        CHECK(record.head.shape == RecordShape::strided);
        CHECK_EQ(record.head.time, value);
        CHECK_EQ(record.head.base, 2 * value & kPayload);
        CHECK_EQ(record.head.stride, -4);
        CHECK_EQ(record.head.block, (value + 1) & kPayload);
        CHECK_EQ(record.head.site, 7u);
        CHECK_EQ(record.head.mask, 0x80000001u);
        CHECK_EQ(record.head.slot, 9);
        CHECK_EQ(record.head.owner, 1);
        CHECK_EQ(record.head.warp, 2);
        CHECK_EQ(record.head.sm, 0xFFFE);
        CHECK(ring.take(&record));
        CHECK(record.head.shape == RecordShape::scattered);
        CHECK_EQ(record.addresses[0], (value + 2) & kPayload);
        CHECK_EQ(record.addresses[31], (value + 33) & kPayload);
        CHECK_EQ(record.addresses[5], 0u);  // not in the mask
        CHECK(!ring.take(&record));
        ring.publish();
        CHECK_EQ(head, ring.head());
        value += 10;
    }
    CHECK_EQ(ring.head(), kRounds * (kUnitsStrided + kUnitsScattered));

    // Whichever word is the last, the record is not taken before.
    for (uint32_t last = 0; last < kHeadWords + 32; ++last) {
        std::vector<uint64_t> fresh(kUnits * kWordsPerUnit, 0);
        RecordRing other(fresh.data(), kUnits, &head);
        Producer warp(&fresh, kUnits);
        const uint64_t place = warp.reserve(kUnitsScattered);
        warp.write(place, true, 5, last);
        CHECK(!other.take(&record));
        warp.write(place, true, 5);
        CHECK(other.take(&record));
    }
}

}  // namespace

int main() {
    groups();
    shapes();
    sampling();
    packing();
    plan();
    plan_of_loads();
    packs();
    guards();
    ring();
    return test::summary("probe");
}
