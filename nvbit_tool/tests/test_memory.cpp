// The address map and the counter arena.
#include <vector>

#include "address_map.h"
#include "check.h"
#include "counter_arena.h"

using namespace snoopie;

namespace {

constexpr uint64_t kPage = 1ull << kPageBits;
constexpr uint64_t kBase = 0x7f0000000000;

// The pages as a device would know them after applying every change in order.
class Device {
  public:
    void apply(const std::vector<PageRange>& changes) {
        for (const PageRange& range : changes)
            for (uint64_t page = range.first; page < range.first + range.count; ++page) pages_[page] = range.owner;
    }
    std::optional<uint8_t> operator[](uint64_t address) { return pages_[address >> kPageBits]; }

  private:
    std::map<uint64_t, std::optional<uint8_t>> pages_;
};

Object add(AddressMap& map, Device& device, uint64_t address, uint64_t bytes, uint8_t owner, uint64_t context = 1) {
    std::vector<PageRange> changed;
    const Object object = map.add(address, bytes, owner, context, &changed);
    device.apply(changed);
    return object;
}

void end_free(AddressMap& map, Device& device, const Object& object, bool succeeded = true) {
    std::vector<PageRange> changed;
    map.end_free(object, succeeded, &changed);
    device.apply(changed);
}

void owners() {
    AddressMap map;
    Device device;
    std::vector<PageRange> changed;
    map.add(kBase, 3 * kPage, 1, 1, &changed);
    CHECK_EQ(changed.size(), 1u);  // joined
    CHECK_EQ(changed[0].count, 3u);
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
    end_free(map, device, *map.begin_free(kBase), false);
    CHECK(device[kBase] == uint8_t{1});
    CHECK(map.begin_free(kBase).has_value());
    CHECK(!map.begin_free(kBase).has_value());
    CHECK(!map.begin_free(kBase + 8).has_value());
}

void end_of_a_context() {
    AddressMap map;
    Device device;
    add(map, device, kBase, kPage, 0, 7);
    add(map, device, kBase + kPage, kPage, 1, 8);
    add(map, device, kBase + 2 * kPage, kPage, 0, 7);
    std::vector<PageRange> changed;
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
    late.apply(map.pages());
    for (int page = 0; page < 4; ++page) CHECK(late[kBase + page * kPage] == device[kBase + page * kPage]);
    CHECK_EQ(map.pages().size(), 2u);
}

void absurd_sizes() {
    AddressMap map;
    Device device;
    add(map, device, kBase, 0, 1);
    add(map, device, 1ull << kAddressBits, kPage, 1);
    std::vector<PageRange> changed;
    map.add((1ull << kAddressBits) - kPage, 2 * kPage, 1, 1, &changed);
    CHECK_EQ(changed.size(), 1u);
    CHECK_EQ(changed[0].count, 1u);
    CHECK_EQ(changed[0].first, kPages - 1);
}

void arena() {
    CounterArena arena(100);
    const auto a = arena.allocate(40);
    const auto b = arena.allocate(40);
    CHECK(a == uint64_t{0});
    CHECK(b == uint64_t{40});
    CHECK(!arena.allocate(30));
    arena.release(*a, 40);
    CHECK(arena.allocate(10) == uint64_t{0});
    arena.release(0, 10);
    arena.release(*b, 40);
    CHECK(arena.allocate(100) == uint64_t{0});  // everything joined again
    CHECK(!arena.allocate(1));
}

}  // namespace

int main() {
    owners();
    small_objects_share_a_page();
    freed_and_given_to_another();
    failed_free();
    end_of_a_context();
    device_that_comes_later();
    absurd_sizes();
    arena();
    return test::summary("memory");
}
