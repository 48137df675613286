// Which GPU owns which address: the live allocations and mappings, and per 2 MiB page the owner that a probe looks up.
//
// An object is known from the successful end of its call to the successful end of its free. While a free is under way its pages stay,
// because kernels launched before may still use them; another thread may already be given the same addresses, so a page remembers every
// object on it and the newest decides. A free in stream order leaves its pages as they are until another object takes them, for the same
// reason.
//
// An object owns its pages while no other has ever been on one of them: accesses to these pages are accesses to it. The first that comes
// onto one of them ends that for all.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "probe/pages.h"
#include "trace/owners.h"

namespace snoopie {

struct Object {
    uint32_t id = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint8_t owner = 0;
    ObjectKind kind = ObjectKind::device;
    uint64_t context = 0;  // with whose end it ends, 0 = none
    uint32_t inside = 0;   // the object that it is a part of, 0 = none
};

class AddressMap {
  public:
    // Gives the object its id and, in *changed, the pages that are another's now.
    Object add(Object object, MapChanges* changed);

    // The free of the object at `address` begins: it is no longer found by address. None if there is no such object.
    std::optional<Object> begin_free(uint64_t address);
    // The same for all objects that lie within a range, as when it is unmapped.
    std::vector<Object> begin_free_range(uint64_t address, uint64_t bytes);
    // The free has failed, has succeeded, or will happen in stream order.
    enum class Freed { failed, now, in_stream_order };
    void end_free(const Object& object, Freed freed, MapChanges* changed);
    // The end of a context frees what was allocated in it. Returns these objects.
    std::vector<Object> end_context(uint64_t context, MapChanges* changed);

    // Managed memory in a range has moved to another owner.
    void move_managed(uint64_t address, uint64_t bytes, uint8_t owner, MapChanges* changed);

    // For an object without an address.
    uint32_t new_id();

    // Addresses that the program keeps for mappings, of one owner or of several.
    void reserve(uint64_t address, uint64_t bytes);
    void unreserve(uint64_t address);

    std::optional<uint8_t> owner_of(uint64_t address) const;
    // What a pointer to an address may reach.
    struct Owners {
        // Of all that it may by arithmetic: the allocation that it lies in, or all that is mapped into the reservation. None if there are
        // several, or if it is not known. Managed memory is anybody's.
        std::optional<uint8_t> sole;
        std::optional<uint8_t> page;
        bool allocated = false;  // whether it lies in a live object
    };
    Owners owners_at(uint64_t address) const;
    // The same of all addresses, as of a version: each stretch goes up to the beginning of the next, ascending. Below them nothing is.
    struct Stretch {
        uint64_t begin = 0;
        Owners owners;
    };
    struct Stretches {
        uint64_t version = 0;
        std::vector<Stretch> list;
    };
    Stretches stretches() const;
    // Objects and pages: in proportion to them is what it takes to make stretches.
    size_t entries() const;
    // Rises whenever the answer to these can change.
    uint64_t version() const { return version_.load(std::memory_order_acquire); }
    // Live objects that overlap a range, lowest address first.
    std::vector<Object> objects_in(uint64_t address, uint64_t bytes) const;

    // Whether this owner has memory, freed in stream order or not.
    bool any_of(uint8_t owner) const;

    // Every page with an owner, for a device that comes later.
    std::vector<PageRange> pages() const;

  private:
    // An object on a page.
    struct Holder {
        uint32_t object = 0;
        uint8_t owner = 0;
        bool freed = false;  // in stream order: stays until another object comes
    };
    using Holders = std::vector<Holder>;  // oldest first
    // From the first to before the end.
    struct Pages {
        uint64_t first = 0;
        uint64_t end = 0;
    };

    // Whose a page is.
    struct Place {
        std::optional<uint8_t> owner;
        uint32_t object = 0;
    };

    static Pages pages_of(uint64_t address, uint64_t bytes);
    Place place_of(const Holders& holders) const;
    // The pages of the object are its own, unless there are others on them; these own theirs no longer.
    void take_over(const Object& object, MapChanges* changed);
    void disown(uint32_t object, MapChanges* changed);
    template <class Change>
    void change_pages(Pages pages, MapChanges* changed, Change change);
    void release(const Object& object, MapChanges* changed);

    // The caller holds the lock in these.
    const Object* object_at(uint64_t address) const;  // a live one
    // Owners of what is mapped into reservations, by their addresses: to be looked through once, as each may have many mappings.
    using Reserved = std::map<uint64_t, std::optional<uint8_t>>;
    std::optional<uint8_t> sole_owner(const Object& object, Reserved* known) const;
    std::optional<uint8_t> owner_of_reserved(uint64_t address, uint64_t bytes) const;
    Owners locked_owners_at(uint64_t address, Reserved* known) const;
    std::vector<PageRange> locked_pages() const;

    mutable std::mutex mutex_;
    std::atomic<uint64_t> version_{0};
    uint32_t last_id_ = 0;
    std::map<uint64_t, uint64_t> reservations_;  // address → bytes
    std::map<uint64_t, Object> by_address_;
    std::unordered_map<uint64_t, Holders> by_page_;
    std::unordered_map<uint32_t, Pages> own_;  // of the objects that own theirs
    std::map<uint8_t, uint64_t> live_;         // objects and moves by owner, those being freed included
};

}  // namespace snoopie
