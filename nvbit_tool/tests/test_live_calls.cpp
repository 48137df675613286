// Which accesses of a launch may leave the GPU, by the values of its parameters.
#include "launches/live_calls.h"

#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "probe/tensor_map.h"

using namespace snoopie;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kOwn = 0x7f00'0000'0000;      // 64 MiB
constexpr uint64_t kForeign = kOwn + 64 * kMiB;  // right behind it
constexpr uint64_t kOther = 0x7e00'0000'0000;    // own, with nothing around it

Where where(uint64_t address) {
    if (address >= kOwn && address < kForeign) return Where::own;
    if (address >= kForeign && address < kForeign + 64 * kMiB) return Where::foreign;
    if (address >= kOther && address < kOther + 64 * kMiB) return Where::own;
    return Where::nowhere;
}

Roots roots(std::vector<uint16_t> pointers, std::vector<uint16_t> numbers = {}) {
    return {false, std::move(pointers), std::move(numbers), Roots::Any::none};
}

bool leaves(const Roots& address, const std::vector<uint64_t>& words) {
    const std::string bytes(reinterpret_cast<const char*>(words.data()), words.size() * 8);
    return may_leave({address}, bytes, where)[0];
}

void pointers() {
    CHECK(!leaves(roots({0}), {kOwn}));
    CHECK(!leaves(roots({1}), {kForeign, kOther + 5}));
    CHECK(leaves(roots({0}), {kForeign, kOwn}));
    CHECK(leaves(Roots(), {kOwn}));
    // Both have a part in it, or it can be either.
    CHECK(!leaves(roots({0, 1}), {kOwn, kOther}));
    CHECK(leaves(roots({0, 1}), {kOwn, kForeign}));
    // Null leads nowhere; but a number that is added to it can be anything.
    CHECK(!leaves(roots({0}), {0}));
    CHECK(!leaves(roots({0}, {2, 3}), {0, 4096}));
    CHECK(leaves(roots({0, 1}), {0, kForeign}));
    for (const uint64_t size : {1, 2, 4, 8, 16}) CHECK(leaves(roots({0}, {2, 3}), {0, kForeign / size}));
    // Before an allocation, behind it, nowhere; and a word that the launch does not have.
    for (const uint64_t value : {kOther - 4, kOther + 64 * kMiB, uint64_t{1} << 46, uint64_t{4096}}) CHECK(leaves(roots({0}), {value}));
    CHECK(leaves(roots({1}), {kOwn}));
    // So little before foreign memory that it may be meant for it; and right behind some.
    constexpr uint64_t kBehind = kForeign + 64 * kMiB;
    CHECK(!may_leave({roots({0})}, std::string(reinterpret_cast<const char*>(&kBehind), 8),
                     [](uint64_t address) { return address >= kBehind ? Where::own : Where::foreign; })[0]);
    CHECK(leaves(roots({0}), {kForeign - 4}));
    CHECK(leaves(roots({0}), {kForeign - 16384}));
    CHECK(leaves(roots({0}), {kForeign - 65536}));
    CHECK(!leaves(roots({0}), {kForeign - 65537}));
    CHECK(!leaves(roots({0}), {kOther + 64 * kMiB - 4}));
    // A distance from one to another.
    CHECK(leaves(roots({0, 1}), {kOther, kForeign - kOther}));
    CHECK(leaves(roots({0, 1}), {kOwn, 64 * kMiB}));
    CHECK(leaves(roots({0, 1}), {kForeign - 4096, 4096}));
    CHECK(!leaves(roots({0, 1}), {kOwn, 4096}));
    CHECK(!leaves(roots({0, 1}), {kOwn, 0}));
}

uint64_t two(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

void numbers() {
    CHECK(!leaves(roots({0}, {2}), {kOwn, two(4096, 0x7f00)}));
    CHECK(!leaves(roots({0}, {2, 3}), {kOwn, 4096}));
    // A distance in elements of 1 to 16 bytes, forwards and backwards, in 32 bits and in 64.
    for (const uint64_t size : {1, 2, 4, 8, 16}) {
        CHECK(leaves(roots({0}, {2}), {kOwn, 64 * kMiB / size}));
        CHECK(leaves(roots({0}, {2, 3}), {kOwn, 64 * kMiB / size}));
    }
    CHECK(leaves(roots({0}, {3}), {kOwn, two(7, 16 * kMiB)}));
    CHECK(leaves(roots({0}, {2, 3}), {kOther, (kForeign - kOther) / 4}));
    const uint64_t back = 0 - (kForeign - kOther) / 8;
    CHECK(!leaves(roots({0}, {2, 3}), {kOther, back}));
    CHECK(!leaves(roots({0}, {2, 3}), {kOwn, back}));
    // Two integers in a word are looked at by themselves: together they could be anything.
    CHECK(!leaves(roots({0}, {2}), {kOther, two(16, 16)}));
    // A pointer of which only a part, or a shifted copy, goes into the address.
    CHECK(leaves(roots({0}, {2}), {kOther, kForeign}));
    CHECK(leaves(roots({0}, {3}), {kOther, kForeign}));
    CHECK(!leaves(roots({0}, {2, 3}), {kOther, kOwn}));
    CHECK(leaves(roots({0}, {9}), {kOwn, 0}));
}

// A pointer that the code chooses.
void chosen() {
    const auto any = [](std::vector<uint16_t> explicit_pointers = {}, std::vector<uint16_t> numbers = {}) {
        return Roots{false, std::move(explicit_pointers), std::move(numbers), Roots::Any::pointer};
    };
    const auto added = [](std::vector<uint16_t> explicit_pointers = {}) {
        return Roots{false, std::move(explicit_pointers), {}, Roots::Any::added};
    };
    CHECK(!leaves(any(), {kOwn, 0, kOther, 5, kOwn + kMiB}));
    CHECK(leaves(any(), {kOwn, 0, kForeign}));
    CHECK(leaves(any(), {kOwn, kForeign - 4096}));
    CHECK(leaves(any(), {kOwn, kForeign - 65536}));
    CHECK(leaves(any(), {}));
    CHECK(leaves(any(), {0, 5}));
    // What is no pointer to known memory is not the one that is chosen: numbers side by side, and what was never written.
    CHECK(!leaves(any(), {kOwn, two(7, 9), uint64_t{1} << 46, ~uint64_t{0}, 64 * kMiB, kOther - 4}));
    // A number that is added to any.
    CHECK(!leaves(any({}, {4}), {kOwn, kOther, 16}));
    CHECK(leaves(any({}, {4}), {kOther, kOwn, 16 * kMiB}));
    CHECK(leaves(any({}, {4, 5}), {kOther, kOther, kForeign - kOther}));
    CHECK(leaves(any({}, {4, 5}), {kOwn, kForeign - 128 * kMiB, 128 * kMiB}));
    CHECK(leaves(any({}, {4, 5}), {kOwn, 0, kForeign}));
    CHECK(leaves(any({}, {9}), {kOwn}));
    // Or a pointer at a known place.
    CHECK(!leaves(any({1}), {kOwn, kOther}));
    CHECK(leaves(any({1}), {kOwn, kOther - 4}));
    // Any to any: one can be a distance.
    CHECK(!leaves(added(), {kOwn, 4096}));
    CHECK(!leaves(any(), {kOwn, 64 * kMiB}));
    CHECK(leaves(added(), {kOwn, 64 * kMiB}));
    CHECK(leaves(added(), {kOther, kForeign - kOther}));
    CHECK(leaves(added(), {kOther, (kForeign - kOther) / 8}));
    CHECK(leaves(added({1}), {kForeign - kOther, kOther}));
    CHECK(leaves(added(), {kForeign}));
    // 25 KB of parameters, in which many have no place of their own any more.
    std::vector<uint64_t> many;
    for (uint64_t i = 0; i < 1500; ++i) many.push_back(kOwn + i * 4096), many.push_back(i + 1);
    CHECK(!leaves(any(), many));
    CHECK(leaves(added(), many));
    many.back() = kForeign;
    CHECK(leaves(any(), many));
}

// A tensor map among the parameters.
void maps() {
    const Roots map{false, {}, {}, Roots::Any::map};
    // Of 32-bit numbers, `rows` of 4 KiB; in words as decode_tensor_map reads them.
    const auto tensor = [](uint64_t address, uint64_t rows, uint64_t stride) {
        return std::vector<uint64_t>{0, address, uint64_t{stride >> 4} << 32 | 1 << 4 | 2 << 7, 0, 0, (rows - 1) << 32 | 1023, 0, 0, 0};
    };
    CHECK_EQ(decode_tensor_map(tensor(kOwn, 7, 4096).data() + 1).size[1], 7u);
    CHECK_EQ(decode_tensor_map(tensor(kOwn, 7, 4096).data() + 1).stride[1], 4096u);
    CHECK(!leaves(map, tensor(kOwn, 16384, 4096)));
    CHECK(!leaves(map, tensor(kOther, 1, 4096)));
    CHECK(leaves(map, tensor(kForeign, 1, 4096)));
    CHECK(leaves(map, tensor(kForeign - 65536, 1, 4096)));
    // Rows that lie in other memory.
    CHECK(leaves(map, tensor(kOwn, 16385, 4096)));
    CHECK(leaves(map, tensor(kOwn, 2, 64 * kMiB)));
    // Another parameter can be the map.
    std::vector<uint64_t> words = tensor(kOwn, 7, 4096);
    words.push_back(kForeign);
    CHECK(leaves(map, words));
    words.back() = 12345;
    CHECK(!leaves(map, words));
    CHECK(leaves(map, {1, 2, 3}));
    // Pointers side by side are no map, whatever they would say as one.
    CHECK(!leaves(map, {kOwn, kOwn + 4096, kOwn + 8192, kOther, kOwn + 512, kOther + 256}));
    CHECK(!leaves(map, {kOwn}));
}

void bytes() {
    const KernelParameters kernel{{0x210, 20}, {{0, 8}, {8, 4}, {16, 4}}};
    uint64_t pointer = kOwn;
    uint32_t a = 5;
    uint32_t b = 7;
    void* parameters[] = {&pointer, &a, &b};
    const auto read = parameter_bytes(kernel, parameters, nullptr);
    CHECK(read && read->size() == 20);
    CHECK(std::memcmp(read->data(), &pointer, 8) == 0 && (*read)[8] == 5 && (*read)[16] == 7 && (*read)[12] == 0);
    void* lacking[] = {&pointer, nullptr, &b};
    CHECK(!parameter_bytes(kernel, lacking, nullptr));

    size_t size = read->size();
    void* const pointer_key = reinterpret_cast<void*>(1);
    void* const size_key = reinterpret_cast<void*>(2);
    std::string buffer = *read;
    void* extra[] = {pointer_key, buffer.data(), size_key, &size, nullptr};
    CHECK(parameter_bytes(kernel, nullptr, extra) == read);
    size = 16;
    CHECK(!parameter_bytes(kernel, nullptr, extra));
    CHECK(!parameter_bytes(kernel, nullptr, nullptr));
    CHECK(parameter_bytes({{0x210, 0}, {}}, nullptr, nullptr) == std::string());
}

// Numbers of which it is known how often they take part.
void multiples() {
    const auto with = [](std::vector<Roots::Multiple> some, std::vector<uint16_t> numbers = {}) {
        Roots address = roots({0}, std::move(numbers));
        address.multiples = std::move(some);
        return address;
    };
    // So many bytes, and not 2, 4, 8 or 16 times as many, unless the step is large: its first may lead into what is own, too.
    constexpr uint64_t kTo = kForeign - kOwn;
    constexpr uint64_t kSmall = kMiB / 2;
    for (const uint8_t shift : {0, 2, 4}) {
        const Roots address = with({{2, 2, false, shift}});
        CHECK(leaves(address, {kForeign - kSmall, kSmall >> shift}));
        CHECK(leaves(address, {kForeign - kSmall, (kSmall >> shift) + 7}));
        CHECK(!leaves(address, {kForeign - kSmall, (kSmall >> shift) - 1}));
        CHECK(!leaves(address, {kForeign - kSmall, kSmall >> (shift + 1)}));
        CHECK(leaves(address, {kOwn, kTo >> shift}));
        for (const int steps : {1, 2, 3, 4}) CHECK(leaves(address, {kOwn, kTo >> (shift + steps)}));
        CHECK(!leaves(address, {kOwn, kTo >> (shift + 5)}));
    }
    // Of 64 bits where the upper half takes part, too.
    const std::vector<uint64_t> far{kOther, kForeign - kOther};
    CHECK(leaves(with({{2, 2, false, 0}, {3, 3, false, 0}}), far));
    CHECK(leaves(with({{2, 2, false, 0}}, {3}), far));
    CHECK(leaves(with({{2, 2, false, 2}, {3, 3, false, 2}}), {kOther, (kForeign - kOther) / 4}));
    const uint64_t back = 0 - (kForeign - kOther) / 8;
    CHECK(!leaves(with({{2, 2, false, 3}, {3, 3, false, 3}}), {kOther, back}));
    // A product: of a rank and the distance from each GPU's memory to the next one's.
    const Roots by_rank = with({{2, 4, true, 2}, {3, 4, true, 2}});
    CHECK(!leaves(by_rank, {kOther, (kForeign - kOther) / 4, 0}));
    CHECK(leaves(by_rank, {kOther, (kForeign - kOther) / 4, 1}));
    CHECK(leaves(by_rank, {kOther, (kForeign - kOther + 11) / 12, 3}));
    // One that is not as it was is looked at by itself.
    CHECK(leaves(with({{2, 4, true, 2}, {3, 4, true, 2}}, {2, 3}), {kOther, (kForeign - kOther) / 4, 0}));
    // Sizes and strides, whose products lead on in the tensor.
    const Roots strided = with({{2, 4, true, 0}, {4, 4, false, 0}});
    CHECK(!leaves(strided, {kOwn, 4096, 8192}));
    CHECK(leaves(strided, {kOwn, 4096, 16384}));
    CHECK(leaves(strided, {kOwn, 1, kTo}));
    // Pointers to foreign memory that take part as numbers, and words that the launch does not have.
    CHECK(leaves(with({{2, 2, false, 0}}), {kOther, kForeign}));
    CHECK(leaves(with({{4, 2, true, 0}}), {kOther, kForeign, 0}));
    CHECK(leaves(with({{2, 2, false, 0}}), {kOther}));
    CHECK(leaves(with({{2, 4, true, 0}}), {kOther, 0}));
}

// Unknown in launches that reach some code: where word 1 is 7, or where word 2 is not null.
void reached() {
    LaunchPaths paths;
    for (int i = 0; i < 4; ++i) paths.add_place();
    const auto is = [&](LaunchPaths::Compare how, uint32_t word, uint32_t value) {
        return paths.compared(how, false, paths.parameter(4 * word, 4, false), paths.number(value));
    };
    paths.lead(0, 1, is(LaunchPaths::Compare::equal, 2, 7));
    paths.lead(0, 2, is(LaunchPaths::Compare::equal, 4, 0), false);
    paths.lead(0, 3);
    CHECK(paths.words() == (std::vector<uint16_t>{1, 2}));
    const auto leaves_at = [&](Roots roots, std::vector<uint32_t> places, const std::vector<uint64_t>& words) {
        roots.unknown_at = std::move(places);
        const std::string bytes(reinterpret_cast<const char*>(words.data()), words.size() * 8);
        return bool{may_leave({roots}, bytes, where, paths)[0]};
    };
    CHECK(!leaves_at(roots({0}), {1}, {kOwn, 6, 0}));
    CHECK(leaves_at(roots({0}), {1}, {kOwn, 7, 0}));
    CHECK(!leaves_at(roots({0}), {1}, {kOwn, 0, 1}));
    CHECK(leaves_at(roots({0}), {1, 2}, {kOwn, 0, 1}));
    CHECK(!leaves_at(roots({0}), {1, 2}, {kOwn, 0, 0}));
    // In others it is what is known of it that counts.
    CHECK(leaves_at(roots({0}), {1}, {kForeign, 6, 0}));
    // An access of which nothing is known does not run in them.
    CHECK(!leaves_at(Roots(), {1}, {kForeign, 6, 0}));
    CHECK(leaves_at(Roots(), {1}, {kOwn, 7, 0}));
    CHECK(leaves_at(Roots(), {}, {kOwn, 6, 0}));
    // Code that every launch reaches, and places that the paths do not have.
    CHECK(leaves_at(roots({0}), {3}, {kOwn, 6, 0}));
    CHECK(leaves_at(roots({0}), {4}, {kOwn, 6, 0}));
    // Words that the launch does not have.
    CHECK(leaves_at(roots({0}), {1}, {kOwn}));
}

// Words count where a launch reads them: 6 where word 2 is not null, 7 there or where it is, 8 and 9 where word 1 is 7.
void unread() {
    LaunchPaths paths;
    for (int i = 0; i < 4; ++i) paths.add_place();
    const auto is = [&](uint32_t word, uint32_t value) {
        return paths.compared(LaunchPaths::Compare::equal, false, paths.parameter(4 * word, 4, false), paths.number(value));
    };
    paths.lead(0, 1, is(4, 0), false);
    paths.lead(0, 2, is(4, 0));
    paths.lead(0, 3, is(2, 7));
    for (const size_t place : {1, 2}) paths.read_at(place, 7);
    paths.read_at(1, 6);
    for (const uint16_t half : {8, 9}) paths.read_at(3, half);
    CHECK(paths.may_leave_unread());
    const auto leaves_with = [&](const Roots& address, const std::vector<uint64_t>& words) {
        const std::string bytes(reinterpret_cast<const char*>(words.data()), words.size() * 8);
        return bool{may_leave({address}, bytes, where, paths)[0]};
    };
    const auto with = [](Roots::Multiple one) {
        Roots address = roots({0});
        address.multiples = {one};
        return address;
    };
    constexpr uint32_t kFar = 64 * kMiB / 4;  // elements, from own memory to foreign
    for (const Roots& address : {roots({0}, {6}), with({6, 6, false, 2})}) {
        CHECK(leaves_with(address, {kOwn, 0, 1, two(kFar, 0)}));
        CHECK(!leaves_with(address, {kOwn, 0, 0, two(kFar, 0)}));
        CHECK(!leaves_with(address, {kOwn, 0, 1, two(1, kFar)}));
    }
    CHECK(leaves_with(roots({0}, {7}), {kOwn, 0, 0, two(0, kFar)}));
    // Nobody has noted where 5 is read.
    CHECK(leaves_with(roots({0}, {5}), {kOwn, 0, two(0, kFar), 0}));
    // A product of which one factor is not read is not made.
    CHECK(leaves_with(with({6, 7, true, 2}), {kOwn, 0, 1, two(kFar, 1)}));
    CHECK(!leaves_with(with({6, 7, true, 2}), {kOwn, 0, 0, two(kFar, 1)}));
    // A pointer that is not read leads nowhere by itself.
    for (const Roots& address : {roots({0, 4}), roots({4})}) {
        CHECK(leaves_with(address, {kOwn, 7, 0, 0, kForeign}));
        CHECK(!leaves_with(address, {kOwn, 6, 0, 0, kForeign}));
    }
    CHECK(leaves_with(roots({4}, {2, 3}), {kOwn, kForeign, 0, 0, kForeign}));
}

// A distance of two pointers is found among thousands of numbers; of more, none is looked at.
void many_numbers() {
    const auto with = [](uint16_t numbers, uint32_t last) {
        std::vector<uint64_t> words{kOwn};
        Roots address = roots({0});
        for (uint16_t i = 0; i < numbers; ++i) {
            const bool is_last = i + 1 == numbers;
            words.push_back(two(1000 + i, is_last ? last : 0));
            address.numbers.push_back(static_cast<uint16_t>(2 + 2 * i));
            if (is_last) address.numbers.push_back(static_cast<uint16_t>(3 + 2 * i));
        }
        return leaves(address, words);
    };
    CHECK(!with(1500, 4096));
    CHECK(with(1500, 64 * kMiB / 8));
    CHECK(with(5000, 4096));
}

}  // namespace

int main() {
    pointers();
    numbers();
    chosen();
    maps();
    bytes();
    multiples();
    reached();
    many_numbers();
    unread();
    return test::summary("live calls");
}
