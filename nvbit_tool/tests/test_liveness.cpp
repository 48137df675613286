// Which calls of a kernel are live in a launch, and when code changes for it.
#include "launches/liveness.h"

#include <cstring>
#include <string>

#include "check.h"

using namespace snoopie;

namespace {

constexpr uint64_t kOwn = 0x7e00'0000'0000, kForeign = 0x7f00'0000'0000;

Where where(uint64_t address) {
    return address >> 32 == kOwn >> 32 ? Where::own : address >> 32 == kForeign >> 32 ? Where::foreign : Where::nowhere;
}

// Two pointers; three calls: of both, of the first, and of the second beside a site that is not known.
FunctionAddresses two_pointers() {
    FunctionAddresses addresses;
    addresses.roots = {{false, {0}, {}}, {false, {1}, {}}};
    addresses.sites = {{10, 0, ""}, {11, 1, ""}, {12, 0, ""}, {13, 1, ""}};
    addresses.calls = {{0x10, {10, 11}}, {0x20, {12}}, {0x30, {13, 14}}};
    return addresses;
}

const Liveness::Answer& answer(Liveness& liveness, const FunctionAddresses& addresses, uint64_t first, uint64_t second) {
    std::string bytes(16, '\0');
    std::memcpy(bytes.data(), &first, 8);
    std::memcpy(bytes.data() + 8, &second, 8);
    return liveness.at_launch(addresses, bytes, [] { return where; }, 1);
}

// All nodes of graphs count at each launch of one, and beside each launch of the kernel.
void graphs() {
    const FunctionAddresses addresses = two_pointers();
    const auto bytes = [](uint64_t first, uint64_t second) {
        std::string both(16, '\0');
        std::memcpy(both.data(), &first, 8);
        std::memcpy(both.data() + 8, &second, 8);
        return both;
    };
    const auto where_is = [] { return where; };
    Liveness liveness;
    CHECK(liveness.in_graphs(addresses, where_is, 1).any_live && !liveness.in_graphs(addresses, where_is, 1).dead);
    liveness.put_in_graph(addresses, bytes(kOwn, kOwn));
    const Liveness::Answer own = liveness.in_graphs(addresses, where_is, 1);
    CHECK(own.live && (*own.live == CallSet{false, false, true}));
    CHECK((*own.dead == std::vector<uint32_t>{10, 11, 12, 13}));
    liveness.put_in_graph(addresses, bytes(kOwn, kForeign));
    const Liveness::Answer both = liveness.in_graphs(addresses, where_is, 1);
    CHECK(both.live && (*both.live == CallSet{true, false, true}));
    CHECK((*both.dead == std::vector<uint32_t>{10, 12}));
    // The memory of a pointer becomes another's.
    const auto all_foreign = [] { return [](uint64_t) { return Where::foreign; }; };
    CHECK(liveness.in_graphs(addresses, all_foreign, 1).live);
    CHECK(!liveness.in_graphs(addresses, all_foreign, 2).live);
    CHECK(liveness.in_graphs(addresses, where_is, 3).live);

    const Liveness::Answer alone = answer(liveness, addresses, kForeign, kOwn);
    CHECK(!alone.live && (*alone.dead == std::vector<uint32_t>{11, 13}));
    const Liveness::Answer beside = liveness.beside_graphs(alone, addresses, where_is, 3);
    CHECK(!beside.live);
    CHECK(beside.any_live && beside.dead && beside.dead->empty());
    const Liveness::Answer quiet = liveness.beside_graphs(answer(liveness, addresses, kOwn, kOwn), addresses, where_is, 3);
    CHECK(quiet.live && (*quiet.live == *both.live) && (*quiet.dead == *both.dead));

    // One whose parameters are not known can do anything; so can a kernel that was found to.
    liveness.put_in_graph(addresses, std::nullopt);
    CHECK(!liveness.in_graphs(addresses, where_is, 3).dead);
    Liveness other;
    other.put_in_graph(addresses, bytes(kOwn, kOwn));
    other.distrust();
    CHECK(!other.in_graphs(addresses, where_is, 1).dead);
}

// The calls at polls are in the code of every launch.
void calls_of_waits() {
    FunctionAddresses addresses = two_pointers();
    addresses.calls = {{0x10, {10, 11}}, {0x20, {12}, kUnguarded, true}};
    addresses.all_known = true;
    Liveness liveness;
    const auto& own = answer(liveness, addresses, kOwn, kOwn);
    CHECK(own.any_live && own.live && (*own.live == CallSet{false, true}));
    CHECK((*own.dead == std::vector<uint32_t>{10, 11, 12, 13}));
    addresses.calls.back().always = false;
    Liveness without;
    CHECK(!answer(without, addresses, kOwn, kOwn).any_live);
}

void calls() {
    const FunctionAddresses addresses = two_pointers();
    Liveness liveness;
    const auto& own = answer(liveness, addresses, kOwn, kOwn);
    CHECK(own.any_live && own.live && (*own.live == CallSet{false, false, true}));
    CHECK((*own.dead == std::vector<uint32_t>{10, 11, 12, 13}));
    const auto& second = answer(liveness, addresses, kOwn, kForeign);
    CHECK(second.live && (*second.live == CallSet{true, false, true}));
    CHECK((*second.dead == std::vector<uint32_t>{10, 12}));
    // All calls are no set.
    CHECK(!answer(liveness, addresses, kForeign, kForeign).live);
    const auto& unknown = liveness.at_launch(addresses, std::nullopt, [] { return where; }, 1);
    CHECK(unknown.any_live && !unknown.live && !unknown.dead);
    // One set for what is equal, and it stays where the answers go.
    const CallSet* const kept = own.live;
    CHECK(liveness.at_launch(addresses, std::string(16, '\0'), [] { return where; }, 2).live);
    CHECK(answer(liveness, addresses, kOwn, kOwn + 8).live == kept);

    CHECK(covers(nullptr, kept) && covers(nullptr, nullptr) && covers(kept, kept));
    CHECK(!covers(kept, nullptr));
    const CallSet one{true, false, false}, other{false, false, true};
    const CallSet* const both = liveness.united(one, other);
    CHECK((*both == CallSet{true, false, true}));
    CHECK(covers(both, &one) && covers(both, &other) && !covers(&one, both) && !covers(&one, &other));

    liveness.ran_without_any();
    liveness.ran_without_any();
    liveness.ran_without_some();
    liveness.did_not_run();
    const Liveness::Without without = liveness.distrust();
    CHECK_EQ(without.all, 1u);
    CHECK_EQ(without.some, 1u);
    CHECK(!answer(liveness, addresses, kOwn, kOwn).live);
}

// Bytes that no address is made from are not looked at: they lie between the members of structs, and differ from launch to launch.
void parameters() {
    FunctionAddresses addresses = two_pointers();
    size_t lookups = 0;
    const WhereIs counted = [&](uint64_t address) {
        ++lookups;
        return where(address);
    };
    Liveness liveness;
    const auto judge = [&](uint64_t other) {
        const uint64_t words[3] = {kOwn, kForeign, other};
        lookups = 0;
        return liveness.at_launch(
                           addresses, std::string(reinterpret_cast<const char*>(words), sizeof words), [&] { return counted; }, 1)
            .any_live;
    };
    addresses.words = {{0, 1}};
    CHECK(judge(1) && lookups > 0);
    CHECK(judge(2) && lookups == 0);
    // Where any word can be a pointer, all count.
    addresses.words.reset();
    CHECK(judge(3) && lookups > 0);
    CHECK(judge(4) && lookups > 0);
    CHECK(judge(4) && lookups == 0);
    // Another version of the memory's owners.
    CHECK(liveness.at_launch(addresses, std::string(24, '\0'), [&] { return counted; }, 2).any_live);
}

// Launches in a row that need fewer calls, until they are taken out.
int until_shrunk(Liveness& liveness) {
    int launches = 1;
    while (!liveness.shrinks()) ++launches;
    return launches;
}

void patience() {
    Liveness liveness;
    CHECK_EQ(until_shrunk(liveness), 1);
    // Checks bring all calls back without anything having grown: they cost no patience.
    CHECK_EQ(until_shrunk(liveness), 1);
    for (const int expected : {2, 4, 8, 16, 32, 64, 65, 65}) {
        liveness.grows();
        CHECK_EQ(until_shrunk(liveness), expected);
    }
    // What grows twice in a row was not shrunk in vain twice.
    Liveness other;
    other.shrinks();
    other.grows();
    other.grows();
    CHECK_EQ(until_shrunk(other), 2);
}

}  // namespace

int main() {
    graphs();
    calls();
    calls_of_waits();
    parameters();
    patience();
    return test::summary("liveness");
}
