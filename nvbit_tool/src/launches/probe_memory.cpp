#include "launches/probe_memory.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <thread>

#include "launches/moments.h"

namespace snoopie {

namespace {

constexpr uint64_t kStagingBytes = 1 << 20;
constexpr uint64_t kStagingValues = kStagingBytes / sizeof(uint64_t);
constexpr uint64_t kWaitBytes = kWaitSlots * sizeof(WaitSlot);
static_assert(kWaitBytes <= kStagingBytes, "all slots are read at once");
// Copies of up to 64 KiB from ordinary memory are taken over by the driver at the call, so their source need not live on.
constexpr uint64_t kInlineCopyBytes = 64 << 10;

// Device memory at a multiple of kStateAlignment, which no plain allocation promises; `bytes` becomes what it has. Null if that fails.
CUdeviceptr allocate_aligned(CUdevice device, uint64_t* bytes) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    size_t granularity = 0;
    if (!succeeded(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))) return 0;
    *bytes = (*bytes + granularity - 1) / granularity * granularity;
    CUmemGenericAllocationHandle memory = 0;
    if (!succeeded(cuMemCreate(&memory, *bytes, &properties, 0))) return 0;
    CUdeviceptr place = 0;
    const bool reserved = succeeded(cuMemAddressReserve(&place, *bytes, kStateAlignment, 0, 0));
    const bool mapped = reserved && place % kStateAlignment == 0 && succeeded(cuMemMap(place, *bytes, 0, memory, 0));
    const bool ok = mapped && succeeded(cuMemSetAccess(place, *bytes, &access, 1));
    succeeded(cuMemRelease(memory));  // the mapping keeps it
    if (ok) return place;
    if (mapped) cuMemUnmap(place, *bytes);
    if (reserved) cuMemAddressFree(place, *bytes);
    return 0;
}

}  // namespace

std::unique_ptr<ProbeMemory> ProbeMemory::create(uint8_t gpu, OwnerSlots owners, uint32_t objects, uint32_t sample_size, bool waits,
                                                 const BlockFilter& blocks) {
    CUdevice device = 0;
    size_t gpu_bytes = 0;
    if (!succeeded(cuCtxGetDevice(&device)) || !succeeded(cuDeviceTotalMem_v2(&gpu_bytes, device))) return nullptr;
    const uint64_t counter_cells = (waits ? kMostArenaBytes : arena_bytes(gpu_bytes)) / kCellBytes;
    std::unique_ptr<ProbeMemory> memory(new ProbeMemory(gpu, owners, objects, sample_size, counter_cells));
    void* pinned = nullptr;
    void* ring = nullptr;
    memory->state_bytes_ = kPacks + kPackWords * sizeof(uint32_t);
    const uint64_t counter_bytes = memory->arena_.room() * kCellBytes;
    const uint64_t ring_bytes = sample_size > 0 || waits ? kRingUnits * kWordsPerUnit * sizeof(uint64_t) : 0;
    // Staging, zeros, and the head of the ring in one pinned block.
    const uint64_t pinned_bytes = 2 * kStagingBytes + 64;
    int multiprocessors = 0;
    int threads = 0;
    const bool ok = succeeded(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device)) &&
                    succeeded(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device)) &&
                    (memory->state_ = allocate_aligned(device, &memory->state_bytes_)) != 0 &&
                    succeeded(cuMemAlloc_v2(&memory->counters_, counter_bytes)) &&
                    (!waits || succeeded(cuMemAlloc_v2(&memory->waits_, kWaitBytes))) &&
                    succeeded(cuStreamCreate(&memory->page_stream_, CU_STREAM_NON_BLOCKING)) &&
                    succeeded(cuStreamCreate(&memory->drain_stream_, CU_STREAM_NON_BLOCKING)) &&
                    succeeded(cuMemHostAlloc(&pinned, pinned_bytes, CU_MEMHOSTALLOC_DEVICEMAP)) &&
                    (ring_bytes == 0 || succeeded(cuMemHostAlloc(&ring, ring_bytes, CU_MEMHOSTALLOC_DEVICEMAP)));
    memory->pinned_ = pinned;
    memory->ring_memory_ = ring;
    if (!ok) return give_back(std::move(memory));
    std::memset(pinned, 0, pinned_bytes);
    memory->staging_ = static_cast<uint64_t*>(pinned);
    memory->zeros_ = memory->staging_ + kStagingValues;
    uint64_t* head = memory->zeros_ + kStagingValues;

    uint8_t owner_bytes[kPageBytes];
    std::iota(owner_bytes, owner_bytes + kPageBytes, uint8_t{0});
    ProbeState state{};
    state.counters = reinterpret_cast<uint64_t*>(memory->counters_);
    state.owners = owners.count();
    state.unknown = owners.slot(kOwnerUnknown);
    state.mark = launch_mark_of(gpu);
    const CUdeviceptr filter = memory->state_ + kBlockFilter;
    if (blocks.shape != BlockFilter::kAll) state.blocks = reinterpret_cast<const BlockFilter*>(filter);
    state.sample_size = std::max(sample_size, 1u);
    if (ring) {
        std::memset(ring, 0, ring_bytes);
        // With unified addressing, pinned memory has the same address on the device.
        if (sample_size > 0) state.ring = static_cast<uint64_t*>(ring);
        if (waits) {
            state.waits = reinterpret_cast<WaitSlot*>(memory->waits_);
            state.wait_ring = static_cast<uint64_t*>(ring);
        }
        state.ring_head = head;
        state.ring_units = kRingUnits;
        state.ring_log2 = static_cast<uint32_t>(__builtin_ctzll(kRingUnits));
        const uint64_t slack = static_cast<uint64_t>(multiprocessors) * static_cast<uint64_t>(threads / 32) * kUnitsScattered;
        if (slack >= kRingUnits / 2) return give_back(std::move(memory));
        state.ring_limit = kRingUnits - slack;
        memory->ring_.emplace(static_cast<uint64_t*>(ring), kRingUnits, head);
    }
    // The other GPUs' cells have values of theirs: a launch with such a cell is in the wrong place.
    const size_t cells = kLaunchCellGpus * kCellsOfGpu;
    for (size_t i = 0; i < cells; ++i)
        memory->staging_[i] = i / kCellsOfGpu == gpu ? kLaunchUncounted : pack_launch(0, i / kCellsOfGpu, 0, 0);
    const bool filled =
        succeeded(cuMemsetD8Async(memory->state_, 0, memory->state_bytes_, memory->page_stream_)) &&
        succeeded(cuMemsetD8Async(memory->counters_, 0, counter_bytes, memory->page_stream_)) &&
        (!waits || succeeded(cuMemsetD8Async(memory->waits_, 0, kWaitBytes, memory->page_stream_))) &&
        succeeded(cuMemcpyHtoDAsync_v2(memory->state_, &state, sizeof state, memory->page_stream_)) &&
        succeeded(cuMemcpyHtoDAsync_v2(filter, &blocks, sizeof blocks, memory->page_stream_)) &&
        succeeded(cuMemcpyHtoDAsync_v2(memory->state_ + kOwnerBytes, owner_bytes, sizeof owner_bytes, memory->page_stream_)) &&
        succeeded(cuMemcpyHtoDAsync_v2(memory->state_ + kCells, memory->staging_, cells * sizeof(uint64_t), memory->page_stream_)) &&
        memory->wait(memory->page_stream_, 5 * kPageWaitMilliseconds);
    return filled ? std::move(memory) : give_back(std::move(memory));
}

// The program can use what there is of it.
std::unique_ptr<ProbeMemory> ProbeMemory::give_back(std::unique_ptr<ProbeMemory> memory) {
    if (memory->page_stream_) succeeded(cuStreamDestroy_v2(memory->page_stream_));
    if (memory->drain_stream_) succeeded(cuStreamDestroy_v2(memory->drain_stream_));
    if (memory->state_) memory->unmap();
    for (const CUdeviceptr device : {memory->counters_, memory->waits_})
        if (device) succeeded(cuMemFree_v2(device));
    for (void* const host : {memory->pinned_, memory->ring_memory_})
        if (host) succeeded(cuMemFreeHost(host));
    return nullptr;
}

void ProbeMemory::unmap() {
    if (cuMemUnmap(state_, state_bytes_) == CUDA_SUCCESS) cuMemAddressFree(state_, state_bytes_);
}

bool ProbeMemory::wait(CUstream stream, int milliseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    CUresult result;
    while ((result = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return succeeded(result);
}

bool ProbeMemory::set_pages(const MapChanges& changes) {
    bool ok = true;
    for (const PageRange& range : changes.pages) {
        // Own memory stays 0: to a probe it is like memory that nothing is known of.
        uint8_t byte = 0;
        if (range.owner && *range.owner != gpu_) {
            byte = static_cast<uint8_t>(slots_.slot(*range.owner, range.object) + 1);
            // Before any page has it.
            const auto owner = static_cast<uint8_t>(slots_.owners().slot(*range.owner) + 1);
            if (byte != owner) ok = succeeded(cuMemcpyHtoDAsync_v2(state_ + kOwnerBytes + byte, &owner, sizeof owner, page_stream_)) && ok;
        }
        const std::vector<uint8_t> bytes(std::min(range.count, kInlineCopyBytes), byte);
        for (uint64_t done = 0; done < range.count; done += bytes.size()) {
            const uint64_t count = std::min<uint64_t>(bytes.size(), range.count - done);
            ok = succeeded(cuMemcpyHtoDAsync_v2(state_ + sizeof(ProbeState) + range.first + done, bytes.data(), count, page_stream_)) && ok;
        }
    }
    ok = wait(page_stream_, kPageWaitMilliseconds) && ok;
    // Where the device may still find an object on its pages, the slot is not used again.
    for (const uint32_t object : changes.disowned)
        if (ok) slots_.retire(object);
    return ok;
}

bool ProbeMemory::read(CUdeviceptr from, void* to, size_t bytes) {
    return succeeded(cuMemcpyDtoHAsync_v2(to, from, bytes, page_stream_)) && wait(page_stream_, kPageWaitMilliseconds);
}

std::optional<uint32_t> ProbeMemory::add_pack(const std::vector<uint32_t>& description) {
    const auto words = static_cast<uint32_t>(description.size());
    if (words > kPackWords - pack_words_) return std::nullopt;
    const bool ok = succeeded(cuMemcpyHtoDAsync_v2(state_ + kPacks + pack_words_ * sizeof(uint32_t), description.data(),
                                                   words * sizeof(uint32_t), page_stream_)) &&
                    wait(page_stream_, kPageWaitMilliseconds);
    if (!ok) return std::nullopt;
    pack_words_ += words;
    return pack_words_ - words;
}

uint64_t ProbeMemory::affordable_cells() const {
    const uint64_t part = arena_.room() / kPartOfRoom;
    return waits_ ? part : std::min(part, kMostToldBytes / kCellBytes);
}

std::optional<ProbeMemory::Counters> ProbeMemory::allocate(uint32_t first_site, uint32_t sites, uint64_t blocks, bool banks) {
    Counters counters;
    counters.first_site = first_site;
    const uint64_t affordable = affordable_cells();
    counters.boarding = slots_.board(sites, affordable);
    if (waits_) {
        const uint64_t most = affordable / sites;
        const uint32_t slots = counters.boarding.slots;
        counters.time_cells = time_cells_for(blocks, most > slots ? most - slots : 0);
        counters.log2_blocks = log2_blocks_of_cell(blocks, counters.time_cells);
    }
    counters.size = static_cast<uint64_t>(sites) * counters.cells_of_site();
    // Where moments are told, slots tell those.
    if (banks && !waits_) counters.bank_cells = bank_cells_for(counters.size, blocks, affordable);
    const std::optional<uint64_t> place = arena_.allocate(counters.cells_of_banks());
    if (!place) {
        slots_.land(counters.boarding.moment);
        return std::nullopt;
    }
    counters.place = *place;
    return counters;
}

void ProbeMemory::release(const Counters& counters) {
    arena_.release(counters.place, counters.cells_of_banks());
    slots_.land(counters.boarding.moment);
}

uint64_t ProbeMemory::launch_value(uint16_t slot, const Counters& counters) const {
    const uint32_t site_zero = static_cast<uint32_t>(counters.place) - counters.first_site * counters.cells_of_site();
    return pack_launch(slot, gpu_, (counters.boarding.slots - slots_.owners().count()) / kSlotStep, site_zero);
}

std::optional<uint64_t> ProbeMemory::take_launch_cell() {
    if (launch_cells_ < kCellsOfGpu) return pack_launch_cell(gpu_, launch_cells_++);
    if (free_launch_cells_.empty()) return std::nullopt;
    const uint64_t cell = free_launch_cells_.front();
    free_launch_cells_.pop_front();
    return cell;
}

bool ProbeMemory::write_launch_cell(uint64_t cell, uint64_t launch, CUstream stream) const {
    // A copy from ordinary memory can wait for the stream.
    return succeeded(cuStreamWriteValue64_v2(stream, state_ + static_cast<uint32_t>(cell), launch, CU_STREAM_WRITE_VALUE_DEFAULT));
}

bool ProbeMemory::write_launch_cells(const std::vector<CellValue>& values, CUstream stream) const {
    // The driver takes fewer than 256 at a time.
    constexpr size_t kMost = 255;
    bool ok = true;
    for (size_t first = 0; first < values.size(); first += kMost) {
        const auto count = static_cast<unsigned>(std::min(kMost, values.size() - first));
        std::vector<CUstreamBatchMemOpParams> operations(count);
        for (unsigned i = 0; i < count; ++i) {
            operations[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
            operations[i].writeValue.address = state_ + static_cast<uint32_t>(values[first + i].cell);
            operations[i].writeValue.value64 = values[first + i].launch;
        }
        ok = succeeded(cuStreamBatchMemOp_v2(stream, count, operations.data(), 0)) && ok;
    }
    return ok;
}

bool ProbeMemory::write_launch_cell_now(uint64_t cell, uint64_t launch, CUevent behind) {
    return (!behind || succeeded(cuStreamWaitEvent(page_stream_, behind, 0))) && write_launch_cell(cell, launch, page_stream_) &&
           wait(page_stream_, kPageWaitMilliseconds);
}

std::optional<ProbeMemory::Progress> ProbeMemory::read_progress() {
    constexpr size_t kFirst = offsetof(ProbeState, tail);
    const bool ok = succeeded(cuMemcpyDtoHAsync_v2(staging_, state_ + kFirst, sizeof(ProbeState) - kFirst, drain_stream_)) &&
                    succeeded(cuStreamSynchronize(drain_stream_));
    if (!ok) return std::nullopt;
    const auto at = [&](size_t member) { return staging_[(member - kFirst) / sizeof(uint64_t)]; };
    return Progress{at(kFirst), at(offsetof(ProbeState, dropped)), at(offsetof(ProbeState, misdirected)),
                    at(offsetof(ProbeState, waits_dropped))};
}

const std::vector<WaitSlot>& ProbeMemory::read_waits() {
    read_waits_.clear();
    if (!waits_ || !succeeded(cuMemcpyDtoHAsync_v2(staging_, waits_, kWaitBytes, drain_stream_)) ||
        !succeeded(cuStreamSynchronize(drain_stream_)))
        return read_waits_;
    read_waits_.resize(kWaitSlots);
    std::memcpy(read_waits_.data(), staging_, kWaitBytes);
    return read_waits_;
}

void ProbeMemory::clear_wait(size_t slot) {
    succeeded(cuMemcpyHtoDAsync_v2(waits_ + slot * sizeof(WaitSlot), zeros_, sizeof(WaitSlot::key), drain_stream_));
}

bool ProbeMemory::peek(const Counters& counters, std::vector<uint64_t>* values) {
    const bool ok = copy_counters(counters, values, false);
    if (ok) fold_banks(counters.size, counters.bank_cells, values->data());
    values->resize(counters.size * kCounters);
    return ok;
}

// Counters of launches in a row are often neighbours: these are one copy. To wait for each launch's alone would take longer than launches
// do, above all where other processes have their turn on the GPU in between.
size_t ProbeMemory::collect(const Counters* launches, size_t count, std::vector<uint64_t>* values) {
    const auto values_of = [launches](size_t launch) { return launches[launch].cells_of_banks() * kCounters; };
    size_t taken = 1;
    uint64_t sum = values_of(0);
    // None has several banks where one alone is so large.
    if (sum > kStagingValues) {
        if (!copy_counters(launches[0], values, true)) values->clear();
        return taken;
    }
    while (taken < count && sum + values_of(taken) <= kStagingValues) sum += values_of(taken++);
    bool ok = true;
    uint64_t* to = staging_;
    for (size_t first = 0; first < taken;) {
        size_t next = first;
        uint64_t cells = 0;
        while (next < taken && launches[next].place == launches[first].place + cells) cells += launches[next++].cells_of_banks();
        ok = ok && begin_copy(launches[first].place * kCounters, cells * kCounters, to, true);
        to += cells * kCounters;
        first = next;
    }
    // Also where one failed: the next copies come into the same memory.
    ok = succeeded(cuStreamSynchronize(drain_stream_)) && ok;
    values->clear();
    uint64_t* from = staging_;
    for (size_t launch = 0; ok && launch < taken; from += values_of(launch++)) {
        fold_banks(launches[launch].size, launches[launch].bank_cells, from);
        values->insert(values->end(), from, from + launches[launch].size * kCounters);
    }
    return taken;
}

bool ProbeMemory::copy_counters(const Counters& counters, std::vector<uint64_t>* values, bool zero) {
    values->resize(counters.cells_of_banks() * kCounters);
    for (uint64_t done = 0; done < values->size(); done += kStagingValues) {
        const uint64_t count = std::min<uint64_t>(kStagingValues, values->size() - done);
        if (!begin_copy(counters.place * kCounters + done, count, staging_, zero) || !succeeded(cuStreamSynchronize(drain_stream_)))
            return false;
        std::memcpy(values->data() + done, staging_, count * sizeof(uint64_t));
    }
    return true;
}

bool ProbeMemory::begin_copy(uint64_t first, uint64_t count, uint64_t* to, bool zero) {
    const CUdeviceptr source = counters_ + first * sizeof(uint64_t);
    // Zeroed by a copy, not a memset: that would be a kernel, and wait for a place on a GPU that others keep busy.
    return succeeded(cuMemcpyDtoHAsync_v2(to, source, count * sizeof(uint64_t), drain_stream_)) &&
           (!zero || succeeded(cuMemcpyHtoDAsync_v2(source, zeros_, count * sizeof(uint64_t), drain_stream_)));
}

}  // namespace snoopie
