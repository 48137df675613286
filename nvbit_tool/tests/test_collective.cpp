// NCCL calls: sizes, names, communicators, groups, and rows of the trace.
#include <map>

#include "check.h"
#include "libraries/collective.h"

using namespace snoopie;

namespace {

constexpr int kFloat32 = 7;

Collective call(const char* operation, uint64_t count, int peer = -1, Extent extent = Extent::once) {
    Collective made;
    made.operation = operation;
    made.type = kFloat32;
    made.count = count;
    made.peer = peer;
    made.extent = extent;
    made.communicator = {0xabc, 2, 4, 1};
    return made;
}

void sizes() {
    CHECK_EQ(*collective_bytes(call("AllReduce", 10)), 40u);
    CHECK_EQ(*collective_bytes(call("AllGather", 10, -1, Extent::times_ranks)), 160u);
    CHECK_EQ(*collective_bytes(call("Gather", 10, 2, Extent::times_ranks_at_root)), 160u);
    CHECK_EQ(*collective_bytes(call("Gather", 10, 1, Extent::times_ranks_at_root)), 40u);
    CHECK_EQ(*collective_bytes(call("AllReduce", uint64_t{1} << 40)), uint64_t{1} << 42);
    const uint64_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1, 0};
    for (int type = 0; type < 13; ++type) {
        Collective typed = call("AllReduce", 3);
        typed.type = type;
        CHECK_EQ(*collective_bytes(typed), 3 * bytes[type]);
    }
    Collective strange = call("AllReduce", 3);
    strange.type = 99;
    CHECK_EQ(*collective_bytes(strange), 0u);
}

void rows() {
    std::map<std::string, uint32_t> strings{{"", 0}};
    const auto intern = [&](const std::string& text) { return strings.try_emplace(text, strings.size()).first->second; };
    Collective reduce = call("Reduce", 10, 3);
    reduce.reduction = 2;
    reduce.group = 5;
    reduce.stream = 0x70;
    reduce.thread = 9;
    reduce.start = 100;
    reduce.end = 200;
    const CollectiveRow row = collective_row(7, reduce, intern);
    CHECK_EQ(row.id, 7u);
    CHECK_EQ(row.group, 5u);
    CHECK_EQ(row.operation, strings.at("Reduce"));
    CHECK_EQ(row.reduction, strings.at("max"));
    CHECK_EQ(row.type, strings.at("float32"));
    CHECK_EQ(row.count, 10u);
    CHECK_EQ(row.bytes, 40u);
    CHECK_EQ(row.peer, 3);
    CHECK_EQ(row.communicator, 0xabcu);
    CHECK_EQ(row.rank, 2u);
    CHECK_EQ(row.ranks, 4u);
    CHECK_EQ(int{row.gpu}, 1);
    CHECK_EQ(row.stream, 0x70u);
    CHECK_EQ(row.thread, 9u);
    CHECK_EQ(row.start, 100u);
    CHECK_EQ(row.end, 200u);

    Collective send = call("Send", 1);
    send.type = 12;
    const CollectiveRow unknown = collective_row(1, send, intern);
    CHECK_EQ(unknown.reduction, 0u);
    CHECK_EQ(unknown.type, strings.at("type 12"));
    send.reduction = 0x7fff;
    const CollectiveRow custom = collective_row(1, send, intern);
    CHECK_EQ(custom.reduction, strings.at("custom"));
}

void communicators() {
    CHECK_EQ(fnv1a(""), 0xcbf29ce484222325u);
    CHECK_EQ(fnv1a("foobar"), 0x85944171f73967e8u);
    CHECK(Communicators::private_id() != Communicators::private_id());

    Communicators all;
    int handles[4];
    CHECK(!all.find(&handles[0]));
    all.created(&handles[0], 77);
    CHECK(!all.find(&handles[0]));
    CHECK_EQ(all.describe(&handles[0], 1, 8, 3).id, 77u);
    const auto found = all.find(&handles[0]);
    CHECK(found && found->id == 77 && found->rank == 1 && found->ranks == 8 && found->gpu == 3);

    // Created unseen.
    const uint64_t unseen = all.describe(&handles[1], 0, 1, 0).id;
    CHECK(unseen != 0 && unseen != 77);
    CHECK_EQ(all.describe(&handles[1], 0, 1, 0).id, unseen);

    // NCCL reuses a handle: it is another communicator.
    all.destroyed(&handles[0]);
    CHECK(!all.find(&handles[0]));
    all.created(&handles[0], 78);
    CHECK(!all.find(&handles[0]));
    CHECK_EQ(all.describe(&handles[0], 1, 8, 3).id, 78u);

    // Another rank of the same communicator, as in another process.
    Communicators other;
    other.created(&handles[2], 78);
    const uint64_t first = all.split(&handles[0], 0);
    CHECK_EQ(other.split(&handles[2], 0), first);
    const uint64_t second = all.split(&handles[0], 0);
    CHECK(second != first);
    CHECK(other.split(&handles[2], 1) != second);
    CHECK_EQ(all.split(&handles[0], 5), other.split(&handles[2], 5));
    other.created(&handles[3], 79);
    CHECK(other.split(&handles[3], 0) != first);
}

void groups() {
    CollectiveGroup alone;
    CHECK(!alone.open());
    alone.begin(call("AllReduce", 1));
    CHECK_EQ(alone.executing_on(1), 0u);
    alone.execute();
    const uint32_t id = alone.executing_on(1);
    CHECK(id > 0);
    CHECK_EQ(alone.executing_on(0), 0u);
    alone.end(true, 50);
    const CollectiveGroup::Outcome outcome = alone.take();
    CHECK_EQ(outcome.calls.size(), 1u);
    CHECK_EQ(outcome.calls[0].group, id);
    CHECK_EQ(outcome.calls[0].end, 50u);

    CollectiveGroup nested;
    nested.started();
    CHECK(nested.open() && nested.outermost());
    nested.begin(call("Send", 1));
    nested.end(true, 1);
    nested.started();
    CHECK(nested.open() && !nested.outermost());
    nested.begin(call("Recv", 1));
    nested.end(true, 2);
    nested.begin(call("Send", 2));
    nested.end(false, 3);  // refused
    nested.ended();
    CHECK(nested.outermost());
    Collective elsewhere = call("Recv", 1);
    elsewhere.communicator.gpu = 0;
    nested.begin(elsewhere);
    nested.end(true, 4);
    CHECK_EQ(nested.executing_on(1), 0u);
    nested.execute();
    CHECK_EQ(nested.executing_on(1), id + 1);
    CHECK_EQ(nested.executing_on(0), id + 1);
    CHECK_EQ(nested.executing_on(2), 0u);
    const auto calls = nested.take().calls;
    CHECK_EQ(calls.size(), 3u);
    for (const Collective& of_group : calls) CHECK_EQ(of_group.group, id + 1);
    CHECK_EQ(calls[1].operation, std::string("Recv"));
    CHECK_EQ(calls[2].end, 4u);
}

}  // namespace

int main() {
    sizes();
    rows();
    communicators();
    groups();
    return test::summary("collective");
}
