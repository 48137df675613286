// Tensor maps and their boxes, against element-by-element arithmetic; the work of an NCCL kernel.
#include <array>
#include <cstring>
#include <random>
#include <set>

#include "check.h"
#include "code/nccl_kernels.h"
#include "probe/tensor_map.h"

using namespace snoopie;

namespace {

// A tiled map as the driver's encoder fills it; see decode_tensor_map.
std::array<uint64_t, kTensorWords> encode(const TensorMap& map, uint32_t type) {
    std::array<uint64_t, kTensorWords> words{};
    const auto stride = [&](uint32_t k) { return k < map.rank ? map.stride[k] >> 4 : 0; };
    words[0] = map.address;
    words[1] = type << 7 | (map.rank - 1) << 4 | stride(1) << 32;
    words[2] = (stride(2) & 0xffffffff) | stride(3) << 32;
    words[3] = stride(4) & 0xffffffff;
    for (uint32_t k = 1; k < kMaxRank; ++k) words[3] |= (stride(k) >> 32) << (32 + 4 * (k - 1));
    for (uint32_t k = 0; k < kMaxRank; ++k) {
        words[4 + k / 2] |= static_cast<uint64_t>(static_cast<uint32_t>(map.size[k] - 1)) << (k % 2 * 32);
        words[6] |= static_cast<uint64_t>(map.step[k] - 1) << (32 + 3 * k);
    }
    words[6] |= static_cast<uint64_t>(map.box[0] - 1) << 56;
    for (uint32_t k = 1; k < kMaxRank; ++k) words[7] |= static_cast<uint64_t>(map.box[k] - 1) << (8 * (k - 1));
    return words;
}

// Words that the driver (580.159.04, H200) made of known parameters.
void recorded_maps() {
    uint64_t words[kTensorWords] = {0x7f4042000000, 0x19000003c0,       0x61a8000004e2, 0x249f0, 0x3100000063,
                                    0x500000013,    0x1f00000000000002, 0x2010307,      0x6000,  0x10};
    TensorMap expected;
    expected.address = 0x7f4042000000;
    expected.rank = 5;
    const uint64_t sizes[] = {100, 50, 20, 6, 3};
    const uint64_t strides[] = {4, 400, 20000, 400000, 2400000};
    const uint32_t boxes[] = {32, 8, 4, 2, 3};
    for (uint32_t k = 0; k < 5; ++k) {
        expected.size[k] = sizes[k];
        expected.stride[k] = strides[k];
        expected.box[k] = boxes[k];
    }
    TensorMap map = decode_tensor_map(words);
    CHECK(same_tensor(map, expected));
    CHECK_EQ(map.element_bytes, 4u);
    CHECK_EQ(map.stride[0], 4u);
    words[6] = 0x1f00001800000002;  // element strides 1, 4, 1, 1, 1
    map = decode_tensor_map(words);
    CHECK(!same_tensor(map, expected));
    expected.step[1] = 4;
    CHECK(same_tensor(map, expected));
    // Sizes and strides beyond 32 bits.
    const uint64_t big[kTensorWords] = {0x7f4042000000,     0x1234567800000040, 0x3456789023456789, 0x321045678901, 0x0abcdeef12345677, 0x6,
                                        0x1f00000000000000, 0x2010307};
    map = decode_tensor_map(big);
    CHECK_EQ(map.stride[1], 0x123456780u);
    CHECK_EQ(map.stride[2], 0x1234567890u);
    CHECK_EQ(map.stride[3], 0x2345678900u);
    CHECK_EQ(map.stride[4], 0x3456789010u);
    CHECK_EQ(map.size[1], 0x0abcdef0u);
    CHECK_EQ(map.element_bytes, 1u);
    // Not tiled, or interleaved.
    for (const uint64_t flags : {0x19000003c1ull, 0x1900000b40ull}) {
        words[1] = flags;
        CHECK_EQ(decode_tensor_map(words).rank, 0u);
    }
}

TensorBox by_element(const TensorMap& map, const int32_t* start, uint32_t log2_unit) {
    TensorBox box;
    box.first = box.last = map.address;
    std::set<uint64_t> rows;
    uint64_t elements = 0;
    uint64_t lowest = ~0ull;
    uint64_t highest = 0;
    int64_t at[kMaxRank];
    const auto walk = [&](const auto& self, uint32_t k) -> void {
        if (k == map.rank) {
            uint64_t address = map.address;
            for (uint32_t i = 0; i < map.rank; ++i) address += static_cast<uint64_t>(at[i]) * map.stride[i];
            ++elements;
            lowest = std::min(lowest, address);
            highest = std::max(highest, address);
            // Rows are told apart: their wire units are counted row by row.
            uint64_t row = 0;
            for (uint32_t i = 1; i < map.rank; ++i) row = row * 1000 + static_cast<uint64_t>(at[i]);
            rows.insert(row * 1000000 + ((address >> log2_unit) - (map.address >> log2_unit)));
            return;
        }
        for (int64_t j = 0; j < map.box[k]; j += map.step[k]) {
            at[k] = start[k] + j;
            if (at[k] >= 0 && at[k] < static_cast<int64_t>(map.size[k])) self(self, k + 1);
        }
    };
    walk(walk, 0);
    if (elements == 0) return box;
    return {lowest, highest, elements * map.element_bytes, rows.size()};
}

void boxes() {
    std::mt19937 random(1);
    const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
    const uint32_t types[] = {0, 1, 2, 4};
    for (int round = 0; round < 3000; ++round) {
        TensorMap map;
        const uint32_t type = types[pick(0, 3)];
        map.rank = static_cast<uint32_t>(pick(1, 5));
        map.element_bytes = tensor_element_bytes(type);
        map.address = 0x7f0000000000 + 16 * static_cast<uint64_t>(pick(0, 5));
        map.stride[0] = map.element_bytes;
        int32_t start[kMaxRank] = {};
        uint64_t reach = 0;
        for (uint32_t k = 0; k < map.rank; ++k) {
            map.size[k] = static_cast<uint64_t>(pick(1, k ? 6 : 60));
            map.box[k] = static_cast<uint32_t>(pick(1, k ? 5 : 40));
            map.step[k] = static_cast<uint32_t>(pick(0, 3) ? 1 : pick(2, 8));
            start[k] = pick(-6, k ? 7 : 70);
            if (k) map.stride[k] = (reach + 15) / 16 * 16 + 16 * static_cast<uint64_t>(pick(0, 3));
            reach = map.size[k] * map.stride[k];
        }
        const auto words = encode(map, type);
        const TensorMap decoded = decode_tensor_map(words.data());
        CHECK(same_tensor(decoded, map));
        const uint32_t log2_unit = round % 2 ? 4 : 5;
        const TensorBox box = tensor_box(decoded, start, log2_unit);
        const TensorBox expected = by_element(map, start, log2_unit);
        CHECK_EQ(box.bytes, expected.bytes);
        CHECK_EQ(box.units, expected.units);
        if (expected.bytes) CHECK(box.first == expected.first && box.last == expected.last);
    }
}

struct Work {
    std::vector<unsigned char> bytes = std::vector<unsigned char>(4096, 0);
    void batch(size_t place, uint32_t function, uint32_t jump) {
        const uint32_t flags = function << 17 | 1u << 15 | jump;
        std::memcpy(&bytes[32 + 16 * place], &flags, sizeof flags);
    }
};

void nccl_work() {
    Work work;
    work.batch(0, 5, 0);
    work.batch(1, 5, 3);
    work.batch(4, 600, 0);
    const auto functions = nccl_functions(work.bytes.data(), work.bytes.size(), 2, 671);
    CHECK(functions && *functions == (std::set<uint32_t>{5, 600}));
    CHECK(nccl_functions(work.bytes.data(), work.bytes.size(), 1, 671) == std::set<uint32_t>{5});
    CHECK(!nccl_functions(work.bytes.data(), work.bytes.size(), 2, 600));    // no such place in the table
    CHECK(!nccl_functions(work.bytes.data(), work.bytes.size(), 300, 671));  // more blocks than batches fit
    CHECK(!nccl_functions(work.bytes.data(), 16, 1, 671));
    CHECK(!nccl_functions(nullptr, 4096, 1, 671));
    for (size_t place = 0; place < 254; ++place) work.batch(place, 1, 16383);
    CHECK(!nccl_functions(work.bytes.data(), work.bytes.size(), 1, 671));
    CHECK(has_nccl_work("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
    CHECK(!has_nccl_work("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"));
}

}  // namespace

int main() {
    recorded_maps();
    boxes();
    nccl_work();
    return test::summary("work");
}
