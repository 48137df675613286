// The host's end of a ring of records; probe_abi.h describes the memory and the protocol, ring.cuh is the other end.
#pragma once

#include <atomic>
#include <cstdint>

#include "probe/probe_abi.h"

namespace snoopie {

struct RawRecord {
    RecordHead head;
    uint64_t addresses[32];  // of a scattered record, of the lanes in the mask; 0 of others
};

class RecordRing {
  public:
    // `units` is a power of two; `memory` has kWordsPerUnit words for each and is zero; `head` is where warps read how far the host is.
    RecordRing(const volatile uint64_t* memory, uint64_t units, volatile uint64_t* head)
        : memory_(memory), units_(units), log2_units_(static_cast<uint32_t>(__builtin_ctzll(units))), published_(head) {}

    uint64_t head() const { return head_; }

    // Takes the record at the head if its warp has finished it.
    bool take(RawRecord* record) {
        uint64_t words[kHeadWords];
        if (!read(head_, kHeadWords, words)) return false;
        record->head = head_of(words);
        uint32_t units = kUnitsStrided;
        if (record->head.shape == RecordShape::scattered) {
            units = kUnitsScattered;
            for (uint32_t i = 1; i < units; ++i)
                if (!read(head_ + i, kWordsPerUnit, record->addresses + (i - 1) * kWordsPerUnit)) return false;
        }
        head_ += units;
        return true;
    }

    // Lets warps use what was taken so far.
    void publish() {
        std::atomic_thread_fence(std::memory_order_release);
        *published_ = head_;
    }

  private:
    // The payload of a unit's first words; false if not all have been written in this lap.
    bool read(uint64_t unit, uint32_t count, uint64_t* payload) const {
        const volatile uint64_t* words = memory_ + (unit & (units_ - 1)) * kWordsPerUnit;
        const uint64_t stamp = lap_stamp(unit, log2_units_);
        for (uint32_t i = 0; i < count; ++i) {
            payload[i] = words[i] ^ stamp;
            if (payload[i] > kPayload) return false;
        }
        return true;
    }

    const volatile uint64_t* memory_;
    const uint64_t units_;
    const uint32_t log2_units_;
    volatile uint64_t* published_;
    uint64_t head_ = 0;
};

}  // namespace snoopie
