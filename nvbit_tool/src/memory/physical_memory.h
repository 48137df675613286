// The physical memory that cuMemCreate makes: it lives while one of its handles or one of its mappings does.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace snoopie {

// Allocations and mappings go by the ids of their objects in the trace. All that ends something returns the allocation that has ended with
// it, 0 if none has.
class PhysicalMemory {
  public:
    void created(uint64_t handle, uint32_t allocation);
    // The memory behind a mapping has got one more handle, which may have the value of one that it has already.
    void retained(uint64_t handle, uint32_t mapping);
    // Memory of the handle was mapped. Returns its allocation, 0 if it is not one of these: another process's, or a multicast object.
    uint32_t mapping(uint64_t handle);
    // That mapping, as an object.
    void mapped(uint32_t allocation, uint32_t mapping);

    // A handle is given back: said before the call, because after it the value can be another allocation's.
    struct Release {
        uint64_t handle = 0;
        uint32_t allocation = 0;  // 0: the handle is not known
    };
    Release releasing(uint64_t handle);
    uint32_t released(const Release& release, bool succeeded);
    uint32_t unmapped(uint32_t mapping);

  private:
    struct Uses {
        uint32_t handles = 0;  // those that are being released included
        uint32_t mappings = 0;
    };
    struct Handle {
        uint32_t allocation = 0;
        uint32_t uses = 0;
    };

    void add_use(uint64_t handle, uint32_t allocation);
    uint32_t end_if_unused(uint32_t allocation);

    std::mutex mutex_;
    std::unordered_map<uint32_t, Uses> allocations_;
    std::unordered_map<uint64_t, Handle> handles_;
    std::unordered_map<uint32_t, uint32_t> mappings_;  // to their allocations
};

}  // namespace snoopie
