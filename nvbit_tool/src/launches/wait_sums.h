// Waits of a launch, added up as the trace has them: by the poll, the thread block, and the allocation that is polled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "trace/schema.h"

namespace snoopie {

// Whose memory an address is.
struct Polled {
    uint8_t owner = 0;
    uint32_t object = 0;  // 0 = none that is known
};

struct Wait {
    uint32_t site = 0;
    uint64_t block = 0;
    uint64_t address = 0;
    uint64_t start = 0;  // ns, device time
    uint64_t end = 0;
    uint64_t polls = 0;
    bool given_up = false;
};

// Waits that go on at one poll for one allocation.
struct WaitGroup {
    Polled polled;
    Wait longest;
    uint64_t warps = 0;
    uint64_t blocks = 0;
    uint64_t first_block = 0;
};
// The longest first.
std::vector<WaitGroup> wait_groups(const std::vector<Wait>& waits, const std::function<Polled(uint64_t address)>& whose);

class WaitSums {
  public:
    // A launch has at most so many rows: beyond that neighbouring blocks share one, two at first, then four, …
    static constexpr size_t kMostRows = 4096;

    // Whether blocks are held is told for 2^log2_blocks of them together, as when they moved.
    explicit WaitSums(uint32_t log2_blocks = 0) : log2_held_(log2_blocks) {}

    void add(const Wait& wait, const Polled& polled);
    // The rows of the launch, in order; nothing is left.
    std::vector<WaitRow> take(uint32_t launch);
    bool empty() const { return rows_.empty(); }

  private:
    using Key = std::tuple<uint32_t, uint64_t, uint8_t, uint32_t>;  // site, group of blocks, owner, object

    static void merge(const WaitRow& from, WaitRow* to);
    void widen();

    std::map<Key, WaitRow> rows_;
    uint32_t log2_blocks_ = 0;  // of a row
    const uint32_t log2_held_;
    std::map<uint64_t, uint64_t> held_until_;  // by group of blocks
};

}  // namespace snoopie
