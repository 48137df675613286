// The address space in pages, and what a device's page bytes are to say of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace snoopie {

constexpr int kPageBits = 21;     // CUDA maps device memory in 2 MiB pages
constexpr int kAddressBits = 47;  // of the unified address space
constexpr uint64_t kPages = 1ull << (kAddressBits - kPageBits);

// Consecutive pages of one owner.
struct PageRange {
    uint64_t first = 0;
    uint64_t count = 0;
    std::optional<uint8_t> owner;  // none: nothing known there
    uint32_t object = 0;           // that owns the pages; 0 = several share them
};

struct MapChanges {
    std::vector<PageRange> pages;    // in the order of the changes
    std::vector<uint32_t> disowned;  // objects that own no pages any more
};

}  // namespace snoopie
