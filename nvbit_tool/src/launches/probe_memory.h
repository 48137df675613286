// The collector's memory on one GPU, in one context: page bytes, counters, ring.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "driver/driver.h"
#include "launches/banks.h"
#include "launches/counter_arena.h"
#include "launches/slots.h"
#include "probe/pages.h"
#include "probe/record_ring.h"

namespace snoopie {

class ProbeMemory {
  public:
    // Allocates in the current context; null if that fails. `objects`: so many are told apart at a time; without a `sample_size` there is
    // no ring, unless `waits` are recorded.
    static std::unique_ptr<ProbeMemory> create(uint8_t gpu, OwnerSlots owners, uint32_t objects, uint32_t sample_size, bool waits,
                                               const BlockFilter& blocks);

    // Gives the page bytes' memory back, which would outlive the context. Nothing that is instrumented runs any more; context current.
    void unmap();

    // What probes get as `state`.
    uint64_t state() const { return state_; }
    const SlotTable& slots() const { return slots_; }

    // Makes the device know whose the pages are. Waits for the copies on a stream of its own, which depend on no kernel; should they take
    // longer than kPageWaitMilliseconds nevertheless, goes on and returns false. Context current; one thread at a time.
    bool set_pages(const MapChanges& changes);

    // Copies from the device's memory; false if that fails or takes too long. Waits as set_pages does.
    bool read(CUdeviceptr from, void* to, size_t bytes);

    // Where the description of a pack is from now on, in words; none if there is no room or the device does not learn of it in time. One
    // thread at a time.
    std::optional<uint32_t> add_pack(const std::vector<uint32_t>& description);

    struct Counters {
        uint64_t place = 0;  // in the arena
        uint64_t size = 0;   // cells, of one bank
        uint32_t bank_cells = 0;
        uint32_t first_site = 0;
        SlotTable::Boarding boarding;
        // Behind a site's slots, each of 2^log2_blocks blocks; none unless waits are recorded.
        uint32_t time_cells = 0;
        uint32_t log2_blocks = 0;

        uint32_t cells_of_site() const { return boarding.slots + time_cells; }
        uint64_t cells_of_banks() const { return snoopie::cells_of_banks(size, bank_cells); }
    };
    // Zeroed counters of a launch of so many blocks, for the sites first … first+sites-1; `banks`: where it is worth it, in several banks.
    // Callers lock.
    std::optional<Counters> allocate(uint32_t first_site, uint32_t sites, uint64_t blocks, bool banks);
    void release(const Counters& counters);
    // Whether there is room for those of so many sites where no launch has any.
    bool can_hold(uint32_t sites) const { return uint64_t{sites} * slots_.owners().count() <= arena_.size(); }
    uint64_t launch_value(uint16_t slot, const Counters& counters) const;

    // A cell for launch values, as the value that kernels get instead; none if all are taken. One that was given back is taken again as
    // late as can be, for launches that have it may still run. Callers lock.
    std::optional<uint64_t> take_launch_cell();
    void give_back_launch_cell(uint64_t cell) { free_launch_cells_.push_back(cell); }
    // Launches that follow in the stream have this value, if their kernel has that cell's. Context current.
    bool write_launch_cell(uint64_t cell, uint64_t launch, CUstream stream) const;
    struct CellValue {
        uint64_t cell = 0;
        uint64_t launch = 0;
    };
    // The same of many at once.
    bool write_launch_cells(const std::vector<CellValue>& values, CUstream stream) const;
    // The same of all launches from now on, which the cell's value does not reach before it has been written: once `behind` has come
    // about, unless that is null. Waits as set_pages does.
    bool write_launch_cell_now(uint64_t cell, uint64_t launch, CUevent behind);

    // For the draining thread, context current:
    struct Progress {
        uint64_t tail = 0;
        uint64_t dropped = 0;
        uint64_t misdirected = 0;  // lanes whose access came with another GPU's launch value
        uint64_t waits_dropped = 0;
    };
    std::optional<Progress> read_progress();
    // Copies the counters out, the sums of their banks.
    bool peek(const Counters& counters, std::vector<uint64_t>* values);
    // The same for the first of `count` launches, as many as are copied at once (one at least), and zeroes their counters on the device:
    // how many those are. `values` has theirs one after the other, or none if they could not be copied.
    size_t collect(const Counters* launches, size_t count, std::vector<uint64_t>* values);

    // What warps wait for now; empty if that is not recorded, or cannot be read.
    const std::vector<WaitSlot>& read_waits();
    // The warp of this slot does not wait: its kernel has ended.
    void clear_wait(size_t slot);

    // Whether every access is to have a record: then the device does not count those that get none.
    bool records_all() const { return ring_ && sample_size_ == 1; }
    bool records_waits() const { return waits_ != 0; }
    RecordRing* ring() { return ring_ ? &*ring_ : nullptr; }
    // The draining thread's own stream.
    CUstream drain_stream() const { return drain_stream_; }

    static constexpr int kPageWaitMilliseconds = 2000;

  private:
    ProbeMemory(uint8_t gpu, OwnerSlots owners, uint32_t objects, uint32_t sample_size, uint64_t cells)
        : gpu_(gpu), sample_size_(sample_size), slots_(owners, objects), arena_(cells) {}
    // Null: what the creation of this one got before it failed is the driver's again.
    static std::unique_ptr<ProbeMemory> give_back(std::unique_ptr<ProbeMemory> memory);
    bool wait(CUstream stream, int milliseconds);
    // Of all banks.
    bool copy_counters(const Counters& counters, std::vector<uint64_t>* values, bool zero);
    // Of `count` values behind the first ones, into pinned memory.
    bool begin_copy(uint64_t first, uint64_t count, uint64_t* to, bool zero);

    // Cells that a launch may have, unless for its sites and owners alone: to tell objects, banks or blocks apart loses no launch.
    uint64_t affordable_cells() const;

    // A launch of a kernel with 100 sites on 8 GPUs takes 24 KB, and more where objects are told apart. With moments of 132 blocks it takes
    // 640 KB. A launch of many blocks with 10 sites on 2 GPUs takes 12 KB, in eight banks. One of NCCL takes up to 400 KB, and a CUDA graph
    // has hundreds of them: hence more where a GPU has much memory, of which this is a small part.
    static constexpr uint64_t kCellBytes = kCounters * sizeof(uint64_t);
    static constexpr uint64_t kLeastArenaBytes = 64 << 20, kMostArenaBytes = 256 << 20, kPartOfGpu = 512;
    static uint64_t arena_bytes(uint64_t gpu_bytes) { return std::clamp(gpu_bytes / kPartOfGpu, kLeastArenaBytes, kMostArenaBytes); }
    static constexpr uint64_t kPartOfRoom = 512;
    static constexpr uint64_t kMostToldBytes = kLeastArenaBytes / kPartOfRoom;
    static constexpr uint32_t kPackWords = 1 << kLog2PackWords;
    static constexpr uint64_t kRingUnits = 1 << 20;  // 64 MiB: what a short kernel records at once is kept

    const uint8_t gpu_;
    const uint32_t sample_size_;
    SlotTable slots_;
    CUdeviceptr state_ = 0;
    uint64_t state_bytes_ = 0;
    CUdeviceptr counters_ = 0;
    CUdeviceptr waits_ = 0;  // 0: not recorded
    std::vector<WaitSlot> read_waits_;
    CUstream page_stream_ = nullptr;   // used by application threads, under the collector's lock
    CUstream drain_stream_ = nullptr;  // used by the draining thread
    void* pinned_ = nullptr;
    void* ring_memory_ = nullptr;
    uint64_t* staging_ = nullptr;  // in pinned_
    uint64_t* zeros_ = nullptr;    // in pinned_
    CounterArena arena_;
    uint32_t pack_words_ = 0;
    uint32_t launch_cells_ = 0;  // that were taken so far
    std::deque<uint64_t> free_launch_cells_;
    std::optional<RecordRing> ring_;
};

}  // namespace snoopie
