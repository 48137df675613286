// What a tensor copy moves: the tensor map that its instruction names, decoded, and the part of a box that lies in the tensor.
//
// The layout of a tensor map's 128 bytes is not documented. This is how the driver's encoder fills it for tiled maps on sm_90;
// `same_tensor` compares a decoded map with what the encoder was asked for, so that on a driver or GPU with another layout tensor copies
// are reported as not measured instead of wrongly.
#pragma once

#include <cstdint>

#include "probe/probe_abi.h"

namespace snoopie {

constexpr int kTensorWords = 16;
constexpr uint32_t kMaxRank = 5;

struct TensorMap {
    uint64_t address = 0;
    uint32_t rank = 0;                            // 0: not a map that can be understood
    uint32_t element_bytes = 0;                   // 1, 2, 4 or 8
    uint64_t size[kMaxRank] = {1, 1, 1, 1, 1};    // elements
    uint64_t stride[kMaxRank] = {0, 0, 0, 0, 0};  // bytes; multiples of 16 but for the first
    uint32_t box[kMaxRank] = {1, 1, 1, 1, 1};     // elements of the tensor that a box spans
    uint32_t step[kMaxRank] = {1, 1, 1, 1, 1};    // of which one in so many is moved
};

SNOOPIE_BOTH uint32_t tensor_element_bytes(uint32_t code) {
    // u8 u16 u32 s32 u64 s64 f16 f32 f32.ftz f64 bf16, one hexadecimal digit each from the right.
    return code > 10 ? 0 : static_cast<uint32_t>(0x28442884421ull >> (4 * code) & 15);
}

SNOOPIE_BOTH TensorMap decode_tensor_map(const uint64_t* words) {
    TensorMap map;
    const uint32_t flags = static_cast<uint32_t>(words[1]);
    const bool tiled = (flags & 1) == 0 && (flags >> 11 & 3) == 0;  // not im2col, not interleaved
    const uint32_t rank = (flags >> 4 & 7) + 1;
    map.element_bytes = tensor_element_bytes(flags >> 7 & 15);
    if (!tiled || rank > kMaxRank || map.element_bytes == 0) return map;
    map.rank = rank;
    map.address = words[0];
    map.stride[0] = map.element_bytes;
    const uint32_t low_strides[4] = {static_cast<uint32_t>(words[1] >> 32), static_cast<uint32_t>(words[2]),
                                     static_cast<uint32_t>(words[2] >> 32), static_cast<uint32_t>(words[3])};
    const uint32_t steps = static_cast<uint32_t>(words[6] >> 32);
    SNOOPIE_UNROLL
    for (uint32_t k = 0; k < kMaxRank; ++k) {
        if (k >= rank) break;
        if (k > 0) map.stride[k] = (static_cast<uint64_t>(words[3] >> (32 + 4 * (k - 1)) & 15) << 32 | low_strides[k - 1]) << 4;
        map.size[k] = static_cast<uint64_t>(static_cast<uint32_t>(words[4 + k / 2] >> (k % 2 * 32))) + 1;
        map.box[k] = (k == 0 ? static_cast<uint32_t>(words[6] >> 56) : static_cast<uint32_t>(words[7] >> (8 * (k - 1)) & 255)) + 1;
        map.step[k] = (steps >> (3 * k) & 7) + 1;
    }
    return map;
}

// Whether a decoded map says what the encoder was told. The element size it is not told; the first stride follows from it.
inline bool same_tensor(const TensorMap& a, const TensorMap& b) {
    if (a.rank != b.rank || a.address != b.address) return false;
    for (uint32_t k = 0; k < a.rank; ++k)
        if (a.size[k] != b.size[k] || a.box[k] != b.box[k] || a.step[k] != b.step[k] || (k > 0 && a.stride[k] != b.stride[k])) return false;
    return true;
}

// The elements of a box that lie inside the tensor, the only ones that are moved.
struct TensorBox {
    uint64_t first = 0;  // address of the lowest element, and
    uint64_t last = 0;   // of the highest
    uint64_t bytes = 0;
    uint64_t units = 0;  // distinct wire units, row by row
};

// Wire units of `count` elements that begin `gap` bytes apart and lie in a unit each.
SNOOPIE_BOTH uint64_t row_units(uint64_t address, uint64_t count, uint64_t gap, uint32_t log2_unit) {
    return gap >> log2_unit ? count : ((address + (count - 1) * gap) >> log2_unit) - (address >> log2_unit) + 1;
}

SNOOPIE_BOTH TensorBox tensor_box(const TensorMap& map, const int32_t* start, uint32_t log2_unit) {
    TensorBox box;
    box.first = box.last = map.address;
    uint64_t run = 0;  // elements of a row
    uint64_t rows_even = 1,
             rows_odd = 0;  // rows that begin at an even and at an odd multiple of 16 bytes behind the first dimension's start
    SNOOPIE_UNROLL
    for (uint32_t k = 0; k < kMaxRank; ++k) {
        if (k >= map.rank) break;
        // 32 bits are enough for places within a box, and a 64-bit division would be a function call on the GPU.
        const uint32_t step = map.step[k];
        const int64_t room = static_cast<int64_t>(map.size[k]) - start[k];  // from the start of the box to the end of the tensor
        const uint32_t end = room < map.box[k] ? static_cast<uint32_t>(room < 0 ? 0 : room) : map.box[k];
        const uint32_t before = start[k] < 0 ? 0u - static_cast<uint32_t>(start[k]) : 0u;  // places before the tensor
        const uint32_t skipped = before < end ? (before + step - 1) / step * step : end;
        if (skipped >= end) return {map.address, map.address, 0, 0};
        const uint32_t count = (end - skipped + step - 1) / step;
        const uint64_t at = static_cast<uint64_t>(static_cast<int64_t>(start[k]) + skipped);
        box.first += at * map.stride[k];
        box.last += (at + static_cast<uint64_t>(count - 1) * step) * map.stride[k];
        if (k == 0) {
            run = count;
            continue;
        }
        // A stride of an odd multiple of 16 bytes moves every other row by half of a unit of 32.
        const bool alternates = (map.stride[k] >> 4 & 1) && (step & 1);
        const uint64_t even = alternates ? (count + 1) / 2 : count;
        const uint64_t odd = count - even;
        const uint64_t e = rows_even * even + rows_odd * odd;
        rows_odd = rows_even * odd + rows_odd * even;
        rows_even = e;
    }
    const uint64_t gap = map.step[0] * static_cast<uint64_t>(map.element_bytes);
    // In the first dimension start and gaps may be anything, but rows differ by multiples of 16 bytes only.
    box.bytes = run * (rows_even + rows_odd) * map.element_bytes;
    box.units = rows_even * row_units(box.first, run, gap, log2_unit) + rows_odd * row_units(box.first + 16, run, gap, log2_unit);
    return box;
}

}  // namespace snoopie
