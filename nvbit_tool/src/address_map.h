// Which GPU owns which address: the live allocations and mappings, and per 2 MiB page the owner that a probe looks up.
//
// An object is known from the successful end of its call to the successful end of its free. While a free is under way its pages stay,
// because kernels launched before may still use them; another thread may already be given the same addresses, so a page remembers every
// object on it and the newest decides. A free in stream order leaves its pages as they are until another object takes them, for the same
// reason.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "owners.h"

namespace snoopie {

constexpr int kPageBits = 21;     // CUDA maps device memory in 2 MiB pages
constexpr int kAddressBits = 47;  // of the unified address space
constexpr uint64_t kPages = 1ull << (kAddressBits - kPageBits);

struct Object {
    uint32_t id = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint8_t owner = 0;
    ObjectKind kind = ObjectKind::device;
    uint64_t context = 0;  // with whose end it ends, 0 = none
};

// Consecutive pages of one owner.
struct PageRange {
    uint64_t first = 0;
    uint64_t count = 0;
    std::optional<uint8_t> owner;  // none: nothing known there
};

class AddressMap {
  public:
    // Gives the object its id and, in *changed, the pages whose owner is another now.
    Object add(Object object, std::vector<PageRange>* changed);

    // The free of the object at `address` begins: it is no longer found by address. None if there is no such object.
    std::optional<Object> begin_free(uint64_t address);
    // The same for all objects that lie within a range, as when it is unmapped.
    std::vector<Object> begin_free_range(uint64_t address, uint64_t bytes);
    // The free has failed, has succeeded, or will happen in stream order.
    enum class Freed { failed, now, in_stream_order };
    void end_free(const Object& object, Freed freed, std::vector<PageRange>* changed);
    // The end of a context frees what was allocated in it. Returns these objects.
    std::vector<Object> end_context(uint64_t context, std::vector<PageRange>* changed);

    // Managed memory in a range has moved to another owner.
    void move_managed(uint64_t address, uint64_t bytes, uint8_t owner, std::vector<PageRange>* changed);

    // For an object without an address.
    uint32_t new_id();

    std::optional<uint8_t> owner_of(uint64_t address) const;
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

    template <class Change>
    void change_pages(uint64_t address, uint64_t bytes, std::vector<PageRange>* changed, Change change);
    void release(const Object& object, std::vector<PageRange>* changed);

    mutable std::mutex mutex_;
    uint32_t last_id_ = 0;
    std::map<uint64_t, Object> by_address_;
    std::unordered_map<uint64_t, Holders> by_page_;
    std::map<uint8_t, uint64_t> live_;  // objects and moves by owner, those being freed included
};

}  // namespace snoopie
