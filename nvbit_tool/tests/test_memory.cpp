// The address map, who reaches whose memory, multicast objects, and the counter arena.
#include <random>
#include <vector>

#include "check.h"
#include "launches/counter_arena.h"
#include "memory/address_map.h"
#include "memory/multicast_sets.h"
#include "memory/reach.h"
#include "memory/where.h"

using namespace snoopie;

namespace {

constexpr uint64_t kPage = 1ull << kPageBits;
constexpr uint64_t kBase = 0x7f0000000000;

// The pages as a device would know them after applying every change in order.
class Device {
  public:
    void apply(const MapChanges& changes) {
        for (const PageRange& range : changes.pages)
            for (uint64_t page = range.first; page < range.first + range.count; ++page) pages_[page] = range;
        disowned_.insert(disowned_.end(), changes.disowned.begin(), changes.disowned.end());
    }
    std::optional<uint8_t> operator[](uint64_t address) { return pages_[address >> kPageBits].owner; }
    uint32_t object(uint64_t address) { return pages_[address >> kPageBits].object; }
    const std::vector<uint32_t>& disowned() const { return disowned_; }

  private:
    std::map<uint64_t, PageRange> pages_;
    std::vector<uint32_t> disowned_;
};

Object object_of(uint64_t address, uint64_t bytes, uint8_t owner, uint64_t context = 1, ObjectKind kind = ObjectKind::device) {
    return {0, address, bytes, owner, kind, context};
}

Object add(AddressMap& map, Device& device, uint64_t address, uint64_t bytes, uint8_t owner, uint64_t context = 1,
           ObjectKind kind = ObjectKind::device) {
    MapChanges changed;
    const Object object = map.add(object_of(address, bytes, owner, context, kind), &changed);
    device.apply(changed);
    return object;
}

using Freed = AddressMap::Freed;

void end_free(AddressMap& map, Device& device, const Object& object, Freed freed = Freed::now) {
    MapChanges changed;
    map.end_free(object, freed, &changed);
    device.apply(changed);
}

void owners() {
    AddressMap map;
    Device device;
    MapChanges changed;
    map.add(object_of(kBase, 3 * kPage, 1), &changed);
    CHECK_EQ(changed.pages.size(), 1u);  // joined
    CHECK_EQ(changed.pages[0].count, 3u);
    device.apply(changed);
    CHECK(map.owner_of(kBase + 3 * kPage - 1) == uint8_t{1});
    CHECK(!map.owner_of(kBase + 3 * kPage));
    CHECK(device[kBase + 2 * kPage] == uint8_t{1});
    CHECK(map.any_of(1));
    CHECK(!map.any_of(0));
}

void small_objects_share_a_page() {
    AddressMap map;
    Device device;
    const Object a = add(map, device, kBase, 512, 2);
    add(map, device, kBase + 512, 512, 2);
    CHECK_EQ(map.begin_free(kBase)->id, a.id);
    end_free(map, device, a);
    CHECK(device[kBase] == uint8_t{2});  // the other one is still there
    end_free(map, device, *map.begin_free(kBase + 512));
    CHECK(!device[kBase]);
    CHECK(!map.any_of(2));
}

void freed_and_given_to_another() {
    AddressMap map;
    Device device;
    const Object first = add(map, device, kBase, 2 * kPage, 0);
    const auto freeing = map.begin_free(kBase);
    CHECK(device[kBase] == uint8_t{0});                       // kernels launched before the free may still run
    const Object second = add(map, device, kBase, kPage, 1);  // another thread got the address before our exit event
    CHECK(device[kBase] == uint8_t{1});
    end_free(map, device, *freeing);
    CHECK(device[kBase] == uint8_t{1});  // the newer object stays
    CHECK(!device[kBase + kPage]);
    CHECK(first.id != second.id);
    CHECK_EQ(map.begin_free(kBase)->id, second.id);
}

void failed_free() {
    AddressMap map;
    Device device;
    add(map, device, kBase, kPage, 1);
    end_free(map, device, *map.begin_free(kBase), Freed::failed);
    CHECK(device[kBase] == uint8_t{1});
    CHECK(map.begin_free(kBase).has_value());
    CHECK(!map.begin_free(kBase).has_value());
    CHECK(!map.begin_free(kBase + 8).has_value());
}

void freed_in_stream_order() {
    AddressMap map;
    Device device;
    add(map, device, kBase, 2 * kPage, 1);
    end_free(map, device, *map.begin_free(kBase), Freed::in_stream_order);
    CHECK(device[kBase] == uint8_t{1});  // kernels launched before the free may still run
    CHECK(map.any_of(1));
    CHECK(!map.begin_free(kBase));
    add(map, device, kBase, kPage, 2);
    CHECK(device[kBase] == uint8_t{2});
    CHECK(device[kBase + kPage] == uint8_t{1});
    end_free(map, device, *map.begin_free(kBase));
    CHECK(!device[kBase]);  // the freed one does not come back
}

// The tail of a large object's last page is given to small ones.
void pages_of_their_own() {
    AddressMap map;
    Device device;
    const Object large = add(map, device, kBase, 2 * kPage + 512, 1);
    for (int page = 0; page < 3; ++page) CHECK_EQ(device.object(kBase + page * kPage), large.id);
    const Object neighbour = add(map, device, kBase + 3 * kPage, kPage, 1);
    CHECK_EQ(device.object(kBase + 3 * kPage), neighbour.id);
    CHECK_EQ(device.object(kBase), large.id);
    CHECK_EQ(map.pages().size(), 2u);  // one owner, two objects

    const Object small = add(map, device, kBase + 2 * kPage + 512, 512, 1);
    for (int page = 0; page < 3; ++page) {
        CHECK_EQ(device.object(kBase + page * kPage), 0u);
        CHECK(device[kBase + page * kPage] == uint8_t{1});
    }
    CHECK(device.disowned() == std::vector<uint32_t>{large.id});
    CHECK_EQ(device.object(kBase + 3 * kPage), neighbour.id);
    // What was shared stays shared, so that later counts are not taken for all of its traffic.
    end_free(map, device, *map.begin_free(small.address));
    CHECK_EQ(device.object(kBase), 0u);
    CHECK_EQ(map.pages()[0].object, 0u);
    end_free(map, device, *map.begin_free(large.address));
    CHECK(!device[kBase]);
    const Object again = add(map, device, kBase, 3 * kPage, 1);
    CHECK_EQ(device.object(kBase + 2 * kPage), again.id);
    end_free(map, device, *map.begin_free(kBase));
    CHECK(device.disowned() == (std::vector<uint32_t>{large.id, again.id}));
    CHECK(!device[kBase] && device.object(kBase) == 0);
}

void pages_freed_in_stream_order() {
    AddressMap map;
    Device device;
    const Object first = add(map, device, kBase, 2 * kPage, 1);
    end_free(map, device, *map.begin_free(kBase), Freed::in_stream_order);
    CHECK_EQ(device.object(kBase + kPage), first.id);  // kernels launched before the free may still run
    const Object second = add(map, device, kBase, kPage, 1);
    CHECK_EQ(device.object(kBase), second.id);
    CHECK_EQ(device.object(kBase + kPage), 0u);
    CHECK(device[kBase + kPage] == uint8_t{1});
    CHECK(device.disowned() == std::vector<uint32_t>{first.id});
}

void pages_of_an_object_that_is_being_freed() {
    AddressMap map;
    Device device;
    const Object first = add(map, device, kBase, kPage, 1);
    const auto freeing = map.begin_free(kBase);
    const Object second = add(map, device, kBase, kPage, 1);  // before the first one's free is known to have succeeded
    CHECK_EQ(device.object(kBase), 0u);
    end_free(map, device, *freeing);
    CHECK_EQ(device.object(kBase), 0u);
    CHECK(device.disowned() == std::vector<uint32_t>{first.id});
    CHECK(first.id != second.id);
    // A free that fails leaves all as it was.
    const Object other = add(map, device, kBase + kPage, kPage, 1);
    end_free(map, device, *map.begin_free(kBase + kPage), Freed::failed);
    CHECK_EQ(device.object(kBase + kPage), other.id);
}

void pages_of_managed_memory() {
    AddressMap map;
    Device device;
    const Object object = add(map, device, kBase, 3 * kPage, kOwnerHost, 0, ObjectKind::managed);
    MapChanges changed;
    map.move_managed(kBase + kPage, kPage, 1, &changed);
    device.apply(changed);
    for (int page = 0; page < 3; ++page) CHECK_EQ(device.object(kBase + page * kPage), object.id);
    CHECK(device[kBase] == kOwnerHost && device[kBase + kPage] == uint8_t{1});
}

void unmapped_range() {
    AddressMap map;
    Device device;
    for (uint64_t i = 0; i < 4; ++i) add(map, device, kBase + i * kPage, kPage, static_cast<uint8_t>(i), 0, ObjectKind::mapping);
    const std::vector<Object> objects = map.begin_free_range(kBase + kPage, 2 * kPage);
    CHECK_EQ(objects.size(), 2u);
    for (const Object& object : objects) end_free(map, device, object);
    CHECK(device[kBase] == uint8_t{0} && !device[kBase + kPage] && !device[kBase + 2 * kPage] && device[kBase + 3 * kPage] == uint8_t{3});
    CHECK(map.begin_free_range(kBase + kPage, 2 * kPage).empty());
}

void found_by_range() {
    AddressMap map;
    Device device;
    const Object a = add(map, device, kBase, 1024, 0);
    const Object b = add(map, device, kBase + 4096, 1024, 0);
    CHECK_EQ(map.objects_in(kBase + 100, 1).size(), 1u);
    CHECK_EQ(map.objects_in(kBase + 100, 1)[0].id, a.id);
    CHECK_EQ(map.objects_in(kBase + 2000, 100).size(), 0u);
    CHECK_EQ(map.objects_in(kBase + 2000, 2097).size(), 1u);
    CHECK_EQ(map.objects_in(kBase + 2000, 2097)[0].id, b.id);
    CHECK_EQ(map.objects_in(kBase, 1 << 20).size(), 2u);
}

void managed_memory_moves() {
    AddressMap map;
    Device device;
    add(map, device, kBase, 4 * kPage, kOwnerHost, 0, ObjectKind::managed);
    add(map, device, kBase + 4 * kPage, kPage, 0);
    MapChanges changed;
    map.move_managed(kBase + kPage, 8 * kPage, 1, &changed);
    device.apply(changed);
    CHECK(device[kBase] == kOwnerHost);
    for (int page = 1; page < 4; ++page) CHECK(device[kBase + page * kPage] == uint8_t{1});
    CHECK(device[kBase + 4 * kPage] == uint8_t{0});  // is not managed
    CHECK(map.any_of(1));
    end_free(map, device, *map.begin_free(kBase));
    for (int page = 0; page < 4; ++page) CHECK(!device[kBase + page * kPage]);
}

void reach() {
    AddressMap map;
    Device device;
    Reach reach;
    CHECK(!reach.reaches_foreign(0, map, true));
    add(map, device, kBase, kPage, 1);
    CHECK(!reach.reaches_foreign(0, map, true));  // it is there, and out of reach
    reach.enable_peer(0, 1, true);
    CHECK(reach.reaches_foreign(0, map, true));
    CHECK(!reach.reaches_foreign(1, map, true));  // own memory
    reach.enable_peer(0, 1, false);
    CHECK(!reach.reaches_foreign(0, map, true));
    reach.grant(0, 1);
    reach.end_gpu(1);
    CHECK(reach.reaches_foreign(0, map, true));  // a mapping outlives contexts
    end_free(map, device, *map.begin_free(kBase));
    CHECK(!reach.reaches_foreign(0, map, true));
    add(map, device, kBase, kPage, kOwnerHost);
    CHECK(reach.reaches_foreign(0, map, true));
    CHECK(!reach.reaches_foreign(0, map, false));  // the host's memory is not measured
    for (const uint8_t owner : {kOwnerUnknown, kFirstSet}) {
        AddressMap other;
        add(other, device, kBase, kPage, owner);
        CHECK(reach.reaches_foreign(3, other, false));
    }
}

void owner_slots() {
    const OwnerSlots slots{4, 2};
    CHECK_EQ(slots.count(), 8u);
    for (const uint8_t owner : {uint8_t{0}, uint8_t{3}, kOwnerHost, kOwnerUnknown, kFirstSet, uint8_t{kFirstSet + 1}})
        CHECK_EQ(int{slots.owner(slots.slot(owner))}, int{owner});
    CHECK_EQ(int{slots.owner(slots.slot(9))}, int{kOwnerUnknown});
    CHECK_EQ(int{slots.owner(slots.slot(kFirstSet + 2))}, int{kOwnerUnknown});
}

void multicast() {
    MulticastSets sets;
    bool is_new = false;
    CHECK(!sets.owner(7));
    CHECK(sets.add(7, &is_new) == kFirstSet && is_new);
    CHECK(sets.add(7, &is_new) == kFirstSet && !is_new);
    CHECK(sets.add(8, &is_new) == uint8_t{kFirstSet + 1});
    CHECK(sets.owner(8) == uint8_t{kFirstSet + 1});
    sets.release(7);
    CHECK(!sets.owner(7));
    CHECK(sets.add(7, &is_new) == uint8_t{kFirstSet + 2});  // another object, though its handle has the same value
    for (uint64_t handle = 100; handle < 200; ++handle) sets.add(handle, &is_new);
    CHECK(!sets.add(300, &is_new));  // too many: their owner stays unknown
    CHECK(!sets.owner(300));
}

void end_of_a_context() {
    AddressMap map;
    Device device;
    add(map, device, kBase, kPage, 0, 7);
    add(map, device, kBase + kPage, kPage, 1, 8);
    add(map, device, kBase + 2 * kPage, kPage, 0, 7);
    MapChanges changed;
    const std::vector<Object> ended = map.end_context(7, &changed);
    device.apply(changed);
    CHECK_EQ(ended.size(), 2u);
    CHECK(!device[kBase] && !device[kBase + 2 * kPage]);
    CHECK(device[kBase + kPage] == uint8_t{1});
    CHECK(!map.any_of(0) && map.any_of(1));
    CHECK(!map.begin_free(kBase));
    CHECK(map.end_context(7, &changed).empty());
}

void device_that_comes_later() {
    AddressMap map;
    Device device;
    add(map, device, kBase, kPage, 1);
    add(map, device, kBase + kPage, kPage, 1);
    add(map, device, kBase + 2 * kPage, kPage, 0);
    end_free(map, device, *map.begin_free(kBase));
    Device late;
    late.apply({map.pages(), {}});
    for (int page = 0; page < 4; ++page) CHECK(late[kBase + page * kPage] == device[kBase + page * kPage]);
    CHECK_EQ(map.pages().size(), 2u);
}

void sole_owners() {
    AddressMap map;
    MapChanges changed;
    const auto put = [&](uint64_t address, uint64_t bytes, uint8_t owner, ObjectKind kind) {
        Object object;
        object.address = address;
        object.bytes = bytes;
        object.owner = owner;
        object.kind = kind;
        const uint64_t before = map.version();
        map.add(object, &changed);
        CHECK(map.version() > before);
    };
    const auto owner = [&](uint64_t address) { return static_cast<int>(map.owners_at(address).sole.value_or(99)); };
    put(10 * kPage, 100, 1, ObjectKind::device);
    CHECK_EQ(owner(10 * kPage), 1);
    CHECK_EQ(owner(10 * kPage + 99), 1);
    CHECK_EQ(owner(10 * kPage + 100), 99);
    CHECK_EQ(owner(10 * kPage - 1), 99);
    put(20 * kPage, kPage, 0, ObjectKind::managed);
    CHECK_EQ(owner(20 * kPage), 99);
    put(22 * kPage, kPage, kOwnerHost, ObjectKind::host);
    CHECK_EQ(owner(22 * kPage), static_cast<int>(kOwnerHost));
    // Mappings are judged with all others of their reservation, mapped side by side or not.
    put(32 * kPage, kPage, 1, ObjectKind::mapping);
    CHECK_EQ(owner(32 * kPage), 99);
    map.reserve(32 * kPage, 8 * kPage);
    map.reserve(40 * kPage, 8 * kPage);
    CHECK_EQ(owner(32 * kPage), 1);
    put(33 * kPage, kPage, 1, ObjectKind::mapping);
    put(40 * kPage, kPage, 2, ObjectKind::mapping);
    CHECK_EQ(owner(33 * kPage), 1);
    CHECK_EQ(owner(40 * kPage), 2);
    put(39 * kPage, kPage, 2, ObjectKind::mapping);
    CHECK_EQ(owner(32 * kPage), 99);
    CHECK_EQ(owner(39 * kPage), 99);
    uint64_t version = map.version();
    map.begin_free(39 * kPage);
    CHECK(map.version() > version);
    CHECK_EQ(owner(32 * kPage), 1);
    version = map.version();
    map.unreserve(32 * kPage);
    CHECK(map.version() > version);
    CHECK_EQ(owner(32 * kPage), 99);
    CHECK_EQ(owner(40 * kPage), 2);
}

bool same(const AddressMap::Owners& one, const AddressMap::Owners& other) {
    return one.sole == other.sole && one.page == other.page && one.allocated == other.allocated;
}

// A table of all addresses tells of each what the map tells, whatever has been allocated, mapped and freed.
void all_addresses_in_a_table() {
    std::mt19937 random(1);
    const auto below = [&](uint64_t end) { return random() % end; };
    AddressMap map;
    MapChanges changed;
    std::vector<Object> live;
    constexpr uint64_t kRoom = 64 * kPage;
    for (int reservation = 0; reservation < 3; ++reservation) map.reserve(kBase + (10 + 12 * reservation) * kPage, 10 * kPage);
    for (int step = 0; step < 400; ++step) {
        const ObjectKind kinds[] = {ObjectKind::device, ObjectKind::host, ObjectKind::managed, ObjectKind::mapping};
        const ObjectKind kind = kinds[below(4)];
        const uint64_t unit = kind == ObjectKind::mapping ? kPage : 512;
        const uint64_t address = kBase + below(kRoom / unit) * unit,
                       bytes = (1 + below(kind == ObjectKind::mapping ? 3 : 3 * kPage / unit)) * unit;
        if (below(3)) {
            if (map.objects_in(address, bytes).empty())
                live.push_back(map.add(object_of(address, bytes, static_cast<uint8_t>(below(3)), 1, kind), &changed));
        } else if (const auto freed = map.begin_free(live.empty() ? 0 : live[below(live.size())].address)) {
            if (below(4)) map.end_free(*freed, below(2) ? Freed::now : Freed::in_stream_order, &changed);
        } else {
            map.move_managed(address, bytes, static_cast<uint8_t>(below(3)), &changed);
        }
        if (step % 20) continue;
        const AddressMap::Stretches stretches = map.stretches();
        CHECK_EQ(stretches.version, map.version());
        std::vector<uint64_t> asked{0, kBase - 1, kBase + 2 * kRoom};
        for (const auto& stretch : stretches.list) asked.insert(asked.end(), {stretch.begin - 1, stretch.begin, stretch.begin + 1});
        for (int i = 0; i < 1000; ++i) asked.push_back(kBase + below(kRoom + 4 * kPage));
        std::vector<WhereTable::Stretch> allocated;
        for (const auto& [begin, owners] : stretches.list) allocated.push_back({begin, owners.allocated ? Where::own : Where::nowhere});
        const WhereTable table(allocated);
        for (const uint64_t one : asked) {
            auto stretch = stretches.list.end();
            while (stretch != stretches.list.begin() && std::prev(stretch)->begin > one) --stretch;
            CHECK(same(stretch == stretches.list.begin() ? AddressMap::Owners() : std::prev(stretch)->owners, map.owners_at(one)));
            CHECK((table.at(one) == Where::own) == map.owners_at(one).allocated);
        }
    }
}

void absurd_sizes() {
    AddressMap map;
    Device device;
    add(map, device, kBase, 0, 1);
    add(map, device, 1ull << kAddressBits, kPage, 1);
    MapChanges changed;
    map.add(object_of((1ull << kAddressBits) - kPage, 2 * kPage, 1), &changed);
    CHECK_EQ(changed.pages.size(), 1u);
    CHECK_EQ(changed.pages[0].count, 1u);
    CHECK_EQ(changed.pages[0].first, kPages - 1);
}

void arena() {
    CounterArena arena(100);
    const auto a = arena.allocate(40);
    const auto b = arena.allocate(40);
    CHECK(a == uint64_t{0});
    CHECK(b == uint64_t{40});
    CHECK_EQ(arena.room(), 20u);
    CHECK(!arena.allocate(30));
    arena.release(*a, 40);
    CHECK(arena.allocate(10) == uint64_t{0});
    arena.release(0, 10);
    arena.release(*b, 40);
    CHECK_EQ(arena.room(), 100u);
    CHECK(arena.allocate(100) == uint64_t{0});  // everything joined again
    CHECK(!arena.allocate(1));
}

}  // namespace

int main() {
    owners();
    small_objects_share_a_page();
    freed_and_given_to_another();
    failed_free();
    freed_in_stream_order();
    pages_of_their_own();
    pages_freed_in_stream_order();
    pages_of_an_object_that_is_being_freed();
    pages_of_managed_memory();
    unmapped_range();
    found_by_range();
    managed_memory_moves();
    reach();
    owner_slots();
    multicast();
    end_of_a_context();
    device_that_comes_later();
    sole_owners();
    all_addresses_in_a_table();
    absurd_sizes();
    arena();
    return test::summary("memory");
}
