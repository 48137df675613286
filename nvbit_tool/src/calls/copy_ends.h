// A copy that the host starts, as its driver call describes it, and whose memory its ends are.
#pragma once

#include <cstdint>
#include <optional>

#include "trace/owners.h"

// The driver's handles, as cuda.h declares them.
struct CUarray_st;
struct CUctx_st;
struct CUstream_st;

namespace snoopie {

// What a call says that one of its ends is; `any`: the driver finds out by the address.
enum class MemoryType : uint8_t { any, host, device, array };

struct CopyEnd {
    MemoryType memory = MemoryType::any;
    uint64_t address = 0;  // of the first byte; 0 for an array
    CUarray_st* array = nullptr;
    CUctx_st* context = nullptr;     // that the call names for this end, if it does
    std::optional<uint8_t> owner{};  // that the call itself names
};

struct CopyCall {
    CopyKind kind = CopyKind::linear;
    CopyEnd source;
    CopyEnd destination;
    uint64_t size = 0;  // bytes, or elements of `elements_of`
    CUarray_st* elements_of = nullptr;
    CUstream_st* stream = nullptr;
    bool asynchronous = false;
    uint32_t stack = 0;  // of a graph's copy: who put it there, 0 = unknown
};

// What is known about the machine when a copy begins.
class OwnerLookup {
  public:
    virtual ~OwnerLookup() = default;
    // Of memory whose allocation was seen; kOwnerHost if nothing is known there.
    virtual uint8_t owner_of(uint64_t address) const = 0;
    virtual uint8_t owner_of_array(CUarray_st* array) const = 0;
    virtual uint8_t gpu_of(CUctx_st* context) const = 0;
    // The driver's word on an address of which nothing else is known; none if it does not know it either.
    virtual std::optional<uint8_t> owner_by_driver(uint64_t address) const = 0;
};

// Owner of the end's first byte, which counts for all of it. `current` is the context that the call was made in.
uint8_t owner_of(const CopyEnd& end, const OwnerLookup& lookup, CUctx_st* current);

// Whether a copy between these owners is one to record.
constexpr bool crosses(uint8_t source, uint8_t destination) { return source != destination || source == kOwnerUnknown; }

// Where a copy between these owners goes.
Direction direction_between(uint8_t source, uint8_t destination);

// What a call copies altogether.
struct Copied {
    Direction direction = Direction::none;
    uint64_t bytes = 0;

    void add(uint8_t source, uint8_t destination, uint64_t more);
};

}  // namespace snoopie
