// The host's end of a ring of records; probe_abi.h describes the memory and the protocol, probe.cu is the other end.
#pragma once

#include <atomic>
#include <cstdint>

#include "probe_abi.h"

namespace snoopie {

struct RawRecord {
    RecordTags tags;
    uint64_t time;
    uint64_t base;
    int64_t stride;  // of a bulk record, the bytes moved
    uint64_t block;
    uint32_t site;
    uint32_t mask;
    uint64_t addresses[32];  // of a scattered record, of the lanes in the mask
};

class RecordRing {
  public:
    // `units` is a power of two; `memory` has kWordsPerUnit words for each and is zero; `head` is where warps read how far the host is.
    RecordRing(volatile uint64_t* memory, uint64_t units, volatile uint64_t* head) : memory_(memory), units_(units), published_(head) {}

    uint64_t head() const { return head_; }

    // Takes the record at the head if its warp has finished it.
    bool take(RawRecord* record) {
        const volatile uint64_t* first = unit(head_);
        if (first[kWordStamp] != head_ + 1) return false;
        std::atomic_thread_fence(std::memory_order_acquire);  // the stamp was written last
        record->time = first[kWordTime];
        record->base = first[kWordBase];
        record->stride = static_cast<int64_t>(first[kWordStride]);
        record->block = first[kWordBlock];
        record->site = static_cast<uint32_t>(first[kWordSiteMask] >> 32);
        record->mask = static_cast<uint32_t>(first[kWordSiteMask]);
        record->tags = unpack_tags(first[kWordTags]);
        const bool scattered = record->tags.shape == RecordShape::scattered;
        const uint32_t units = scattered ? kUnitsScattered : kUnitsStrided;
        if (scattered)
            for (uint32_t lane = 0; lane < 32; ++lane)
                record->addresses[lane] = record->mask >> lane & 1 ? unit(head_ + 1 + lane / kWordsPerUnit)[lane % kWordsPerUnit] : 0;
        for (uint32_t i = 0; i < units; ++i) unit(head_ + i)[kWordStamp] = 0;
        head_ += units;
        return true;
    }

    // Lets warps use what was taken so far.
    void publish() {
        std::atomic_thread_fence(std::memory_order_release);
        *published_ = head_;
    }

  private:
    volatile uint64_t* unit(uint64_t place) const { return memory_ + (place & (units_ - 1)) * kWordsPerUnit; }

    volatile uint64_t* memory_;
    const uint64_t units_;
    volatile uint64_t* published_;
    uint64_t head_ = 0;
};

}  // namespace snoopie
