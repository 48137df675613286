// Calls of NCCL by the ranges that it names them with: payloads, communicators, groups, and what is known already.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "libraries/nccl_ranges.h"

using namespace snoopie;

namespace {

struct Received final : CollectiveSink {
    std::vector<Collective> calls;
    void collectives(const std::vector<Collective>& some) noexcept override { calls.insert(calls.end(), some.begin(), some.end()); }
};

NcclPayload member(uint64_t communicator, int rank, int ranks, int gpu) {
    NcclPayload said;
    said.communicator = communicator;
    said.rank = rank;
    said.ranks = ranks;
    said.gpu = gpu;
    return said;
}

NcclPayload moving(uint64_t communicator, uint64_t bytes, std::optional<int> peer = std::nullopt) {
    NcclPayload said;
    said.communicator = communicator;
    said.bytes = bytes;
    said.peer = peer;
    return said;
}

struct Ranked {
    NcclRanges ranges;
    Received received;
    Ranked() { ranges.send_to(&received); }

    void range(const char* name, const NcclPayload& at_begin = {}, const NcclPayload& at_end = {}) {
        ranges.begin(name, at_begin);
        ranges.end(at_end);
    }
};

void payloads() {
    struct {
        uint64_t communicator = 0xfedcba9876543210;
        size_t bytes = size_t{1} << 40;
        int op = 2;
        int root = 3;
    } payload;
    NcclSchemas schemas;
    constexpr uint64_t kId = (1 << 24) + 7, kEnum = (1 << 24) + 24;
    schemas.add(kId,
                {{"NCCL communicator ID", 18, 0}, {"Message size [bytes]", 22, 8}, {"Reduction operation", kEnum, 16}, {"Root", 5, 20}});
    const NcclPayload said = schemas.read(kId, &payload, sizeof payload);
    CHECK(said.communicator == payload.communicator && said.bytes == payload.bytes && said.reduction == 2 && said.peer == 3);
    CHECK(!said.rank && !said.ranks && !said.gpu);
    // One that ends before its last entries, one that is of no schema, and none.
    const NcclPayload cut = schemas.read(kId, &payload, 19);
    CHECK(cut.bytes == payload.bytes && !cut.reduction && !cut.peer);
    CHECK(!schemas.read(kId + 1, &payload, sizeof payload).bytes);
    CHECK(!schemas.read(kId, nullptr, sizeof payload).bytes);
    // Entries of other kinds, without a name, and far away.
    schemas.add(kId, {{"Message size [bytes]", 19, 8}, {nullptr, 5, 0}, {"Color", 5, 0}, {"Rank", 5, ~uint64_t{0}}});
    const NcclPayload nothing = schemas.read(kId, &payload, sizeof payload);
    CHECK(!nothing.bytes && !nothing.rank);
    payload.root = -1;
    schemas.add(kId, {{"Root", 5, 20}});
    CHECK(!schemas.read(kId, &payload, sizeof payload).peer);
    // As many as are kept; those that are there can be told anew.
    for (uint64_t id = 0; id < 2 * NcclSchemas::kMost; ++id) schemas.add(id, {{"Rank", 5, 16}});
    CHECK(!schemas.read(2 * NcclSchemas::kMost - 1, &payload, sizeof payload).rank);
}

void calls() {
    Ranked nccl;
    // What is said of the communicator may come at the end of the range.
    nccl.range("ncclCommInitRank", {}, member(0xabc, 2, 4, 1));
    NcclPayload reduced = moving(0xabc, 4096);
    reduced.reduction = 2;
    nccl.range("ncclAllReduce", reduced);
    nccl.range("ncclAllGather", moving(0xabc, 100));
    nccl.range("ncclScatter", moving(0xabc, 100, 2));
    nccl.range("ncclScatter", moving(0xabc, 100, 1));
    nccl.range("ncclSend", moving(0xabc, 7, 3));
    // What moves nothing, or is none of NCCL's.
    nccl.range("ncclCommDestroy", member(0xabc, 2, 4, 1));
    nccl.range("ncclMemAlloc");
    nccl.range("AllReduce", reduced);
    const std::vector<Collective>& calls = nccl.received.calls;
    CHECK_EQ(calls.size(), 5u);
    const Collective& first = calls.front();
    CHECK_EQ(std::string(first.operation), std::string("AllReduce"));
    CHECK_EQ(first.reduction, 2);
    CHECK_EQ(first.peer, -1);
    CHECK_EQ(first.type, kUnknownType);
    CHECK(first.communicator.id == 0xabc && first.communicator.rank == 2 && first.communicator.ranks == 4 && first.communicator.gpu == 1);
    CHECK(first.thread != 0 && first.start != 0 && first.end >= first.start);
    std::vector<uint64_t> bytes;
    for (const Collective& call : calls) bytes.push_back(*collective_bytes(call));
    CHECK(bytes == (std::vector<uint64_t>{4096, 400, 400, 100, 7}));
    CHECK_EQ(calls.back().peer, 3);
    // Each alone.
    for (size_t i = 1; i < calls.size(); ++i) CHECK(calls[i].group > calls[i - 1].group);
}

void rows_of_what_is_not_known() {
    Ranked nccl;
    nccl.range("ncclAllGather", moving(0x123, 100));
    nccl.range("ncclAllReduce");
    // Two ranks of one process: which of them calls is not known.
    nccl.range("ncclCommInitRank", member(0x9, 0, 2, 0));
    nccl.range("ncclCommInitRank", member(0x9, 1, 2, 1));
    nccl.range("ncclAllGather", moving(0x9, 100));
    nccl.range("ncclGather", moving(0x9, 100, 0));
    std::vector<CollectiveRow> rows;
    for (const Collective& call : nccl.received.calls) rows.push_back(collective_row(1, call, [](const std::string&) { return 5u; }));
    CHECK_EQ(rows.size(), 4u);
    for (const CollectiveRow& row : rows) {
        CHECK(row.type == 0 && row.count == -1 && row.ranks == 0 && row.rank == 0 && row.gpu == 255 && row.stream == 0);
    }
    CHECK(rows[0].bytes == -1 && rows[1].bytes == -1 && rows[2].bytes == 200 && rows[3].bytes == -1);
    CHECK(rows[0].communicator == 0x123 && rows[1].communicator == 0);
}

void groups() {
    Ranked nccl;
    nccl.range("ncclCommInitRank", member(0xabc, 0, 2, 1));
    nccl.range("ncclGroupStart");
    nccl.range("ncclSend", moving(0xabc, 1, 1));
    // Groups within one another are one.
    nccl.range("ncclGroupStart");
    nccl.range("ncclRecv", moving(0xabc, 2, 1));
    nccl.range("ncclGroupEnd");
    CHECK(nccl.received.calls.empty());
    CHECK_EQ(nccl.ranges.current_group(1), 0u);
    nccl.ranges.begin("ncclGroupEnd", {});
    const uint32_t carried_out = nccl.ranges.current_group(1);
    CHECK_EQ(nccl.ranges.current_group(0), 0u);
    nccl.ranges.end({});
    CHECK_EQ(nccl.ranges.current_group(1), 0u);
    CHECK_EQ(nccl.received.calls.size(), 2u);
    for (const Collective& call : nccl.received.calls) CHECK_EQ(call.group, carried_out);
    CHECK(carried_out != 0);
    // One that is only thought about.
    nccl.range("ncclGroupStart");
    nccl.range("ncclSend", moving(0xabc, 1, 1));
    nccl.range("ncclGroupSimulateEnd");
    // Ends of none; a range that ended twice.
    nccl.range("ncclGroupEnd");
    nccl.ranges.end({});
    CHECK_EQ(nccl.received.calls.size(), 2u);
    // A call that is made of another, and what launches meanwhile.
    nccl.ranges.begin("ncclAlltoAll", moving(0xabc, 8));
    CHECK(nccl.ranges.current_group(1) > carried_out);
    nccl.range("ncclSend", moving(0xabc, 1, 1));
    nccl.ranges.end({});
    CHECK_EQ(nccl.received.calls.size(), 3u);
    CHECK_EQ(*collective_bytes(nccl.received.calls.back()), 16u);
}

// Those that nccl_calls.cpp tells of.
void calls_that_are_known_already() {
    Ranked nccl;
    in_passed_call() = true;
    nccl.range("ncclGroupStart");
    nccl.range("ncclAllReduce", moving(1, 8));
    nccl.range("ncclGroupEnd");
    in_passed_call() = false;
    CHECK(nccl.received.calls.empty());
    // Of its thread alone.
    in_passed_call() = true;
    std::thread([&] { nccl.range("ncclAllReduce", moving(1, 8)); }).join();
    in_passed_call() = false;
    CHECK_EQ(nccl.received.calls.size(), 1u);
}

}  // namespace

int main() {
    payloads();
    calls();
    rows_of_what_is_not_known();
    groups();
    calls_that_are_known_already();
    return test::summary("nccl ranges");
}
