// Which GPU owns which address: the live allocations, and per 2 MiB page the owner that a probe looks up.
//
// An allocation is known from the successful end of its call to the successful end of its free. While a free is under way its pages stay,
// because kernels launched before may still use them; another thread may already be given the same addresses, so a page remembers every
// object on it and the newest decides.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace snoopie {

constexpr int kPageBits = 21;     // CUDA maps device memory in 2 MiB pages
constexpr int kAddressBits = 47;  // of the unified address space
constexpr uint64_t kPages = 1ull << (kAddressBits - kPageBits);

struct Object {
    uint32_t id = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint8_t owner = 0;
    uint64_t context = 0;  // with whose end it ends
};

// Consecutive pages of one owner.
struct PageRange {
    uint64_t first = 0;
    uint64_t count = 0;
    std::optional<uint8_t> owner;  // none: nothing known there
};

class AddressMap {
  public:
    // Returns the new object and, in *changed, the pages whose owner is another now.
    Object add(uint64_t address, uint64_t bytes, uint8_t owner, uint64_t context, std::vector<PageRange>* changed);

    // The free of the object at `address` begins: it is no longer found by address. None if there is no such object.
    std::optional<Object> begin_free(uint64_t address);
    // The free has succeeded or failed.
    void end_free(const Object& object, bool succeeded, std::vector<PageRange>* changed);
    // The end of a context frees what was allocated in it. Returns these objects.
    std::vector<Object> end_context(uint64_t context, std::vector<PageRange>* changed);

    std::optional<uint8_t> owner_of(uint64_t address) const;

    // Whether this owner has live memory.
    bool any_of(uint8_t owner) const;

    // Every page with an owner, for a device that comes later.
    std::vector<PageRange> pages() const;

  private:
    void update(const Object& object, bool insert, std::vector<PageRange>* changed);

    mutable std::mutex mutex_;
    uint32_t last_id_ = 0;
    std::map<uint64_t, Object> by_address_;
    std::unordered_map<uint64_t, std::vector<Object>> by_page_;  // oldest first
    std::map<uint8_t, uint64_t> live_;                           // objects by owner, those being freed included
};

}  // namespace snoopie
