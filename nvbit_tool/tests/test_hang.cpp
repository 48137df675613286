// Reports of hangs: what they say, and the socket on which they are asked for.
#include "hang/report.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/files.h"
#include "check.h"
#include "hang/server.h"
#include "launches/store_sums.h"
#include "launches/wait_sums.h"
#include "libraries/collective_log.h"

using namespace snoopie;

namespace {

HangReport report() {
    HangReport made;
    made.pid = 4711;
    made.host = "node1";
    made.program = "ring \"2\"";
    made.ranks = {{"RANK", "3"}};
    made.gpus = {"GPU-a", "GPU-b"};
    HangKernel kernel;
    kernel.launch = 7;
    kernel.name = "ring";
    kernel.gpu = 1;
    kernel.seconds = 62.4;
    HangWait wait;
    wait.place = "ring.cu:7";
    wait.instruction = "LDG.E.STRONG.SYS R0, [R2.64]";
    wait.warps = 2;
    wait.blocks = 1;
    wait.seconds = 61;
    wait.address = 0x7f0000000040;
    wait.owner = 1;
    wait.object = 5;
    wait.object_bytes = 4096;
    wait.offset = 64;
    wait.stores = {{"ring.cu:9", 0, 1, 12}};
    kernel.waits = {wait};
    kernel.collectives = {{"AllReduce", "float32", 1024, 0xfeed, 42, 1, 2, -1}};
    made.kernels = {kernel};
    return made;
}

void sentences() {
    const auto said = sentences_of(report());
    CHECK_EQ(said.size(), 2u);
    CHECK_EQ(said[0],
             "kernel ring on GPU 1 has been under way for 62 s; it carries out AllReduce of 1024 float32, call 42 of rank 1 of 2 on "
             "communicator 0xfeed");
    CHECK_EQ(said[1],
             "  2 warps wait at ring.cu:7, the longest for 61 s, for 0x7f0000000040 of GPU 1 (allocation 5, 4096 bytes, at offset 64); "
             "stored there so far: ring.cu:9 on GPU 0");
    HangReport unknown = report();
    unknown.kernels[0].waits[0] = HangWait{};
    unknown.kernels[0].waits[0].place = "ring";
    CHECK_EQ(sentences_of(unknown)[1],
             "  0 warps wait at ring, the longest for 0 s, for memory of an unknown owner; no store to it is known so far");
}

void json() {
    const std::string text = json_of(report());
    CHECK(text.find("\"program\":\"ring \\\"2\\\"\"") != text.npos);
    CHECK(text.find("\"ranks\":{\"RANK\":\"3\"}") != text.npos);
    CHECK(text.find("\"milliseconds\":62400") != text.npos);
    CHECK(text.find("\"stores\":[{\"place\":\"ring.cu:9\",\"gpu\":0,\"owner\":1,\"accesses\":12}]") != text.npos);
    CHECK(text.find("\"communicator\":\"0xfeed\"") != text.npos);
}

void stores() {
    StoreSums sums;
    sums.add({1, 0, 1, 5, 10});
    sums.add({2, 0, 1, 5, 30});
    sums.add({1, 0, 1, 5, 5});
    sums.add({1, 0, 1, 6, 100});
    sums.add({9, 1, 0, 2, 1});
    const auto to = sums.to(1, 5);
    CHECK_EQ(to.size(), 2u);
    CHECK_EQ(to[0].site, 2u);
    CHECK_EQ(to[1].accesses, 15u);
    CHECK(sums.to(1, 7).empty());
    const auto owners = sums.by_owner();
    CHECK_EQ(owners.size(), 3u);
    CHECK_EQ(owners[0].site, 1u);
    CHECK_EQ(owners[0].accesses, 115u);
}

// A program that allocates again and again stores to ever more objects.
void stores_to_many_objects() {
    StoreSums sums;
    constexpr uint32_t kObjects = StoreSums::kMost + 1000;
    for (uint32_t object = 1; object <= kObjects; ++object) sums.add({1, 0, 1, object, 2});
    CHECK_EQ(sums.to(1, kObjects).size(), 1u);
    CHECK_EQ(sums.to(1, 0).size(), 1u);
    CHECK(sums.to(1, 1).empty());
    const auto owners = sums.by_owner();
    CHECK_EQ(owners.size(), 1u);
    CHECK_EQ(owners[0].accesses, uint64_t{2} * kObjects);
}

void stores_of_many_sites() {
    StoreSums sums;
    for (uint32_t site = 1; site <= StoreSums::kMost + 1000; ++site) sums.add({site, 0, 1, 1, 2});
    CHECK_EQ(sums.by_owner().size(), StoreSums::kMost);
    sums.add({1, 0, 1, 0, 5});
    CHECK_EQ(sums.by_owner()[0].accesses, 7u);
}

void groups_of_waits() {
    const auto whose = [](uint64_t address) { return Polled{static_cast<uint8_t>(address >> 32), 1}; };
    const uint64_t other = uint64_t{1} << 32;
    const auto groups = wait_groups(
        {{1, 4, 8, 0, 10, 1, false}, {1, 4, 16, 0, 50, 1, false}, {1, 2, 8, 0, 20, 1, false}, {1, 0, other, 0, 90, 1, false}}, whose);
    CHECK_EQ(groups.size(), 2u);
    CHECK_EQ(groups[0].longest.address, other);
    CHECK_EQ(groups[1].warps, 3u);
    CHECK_EQ(groups[1].blocks, 2u);
    CHECK_EQ(groups[1].first_block, 2u);
    CHECK_EQ(groups[1].longest.address, 16u);
}

void collectives() {
    CollectiveLog log;
    Collective call;
    call.operation = "AllReduce";
    call.type = 7;
    call.count = 10;
    call.communicator = {0xa, 1, 2, 0};
    call.group = 3;
    log.add({call});
    call.operation = "Send";
    call.group = 4;
    Collective other = call;
    other.communicator.id = 0xb;
    log.add({call, other});
    CHECK_EQ(log.of_group(3).size(), 1u);
    CHECK_EQ(log.of_group(3)[0].sequence, 1u);
    CHECK_EQ(log.of_group(3)[0].type, "float32");
    CHECK_EQ(log.of_group(4)[0].sequence, 2u);
    CHECK_EQ(log.of_group(4)[1].sequence, 1u);
    CHECK(log.of_group(5).empty());
    CHECK_EQ(log.last().size(), 2u);
    CHECK_EQ(log.last()[0].operation, "Send");
    for (uint32_t group = 5; group < 5 + CollectiveLog::kMostGroups; ++group) {
        call.group = group;
        log.add({call});
    }
    CHECK(log.of_group(4).empty());
    CHECK_EQ(log.last()[0].sequence, 2 + CollectiveLog::kMostGroups);
}

// What the socket of a process says; "" if nobody listens.
std::string ask(int pid) {
    const Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = kHangSocket + std::to_string(pid);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return "";
    std::string text;
    char part[4096];
    for (ssize_t got; (got = read(connection.get(), part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(got));
    return text;
}

std::atomic<int> threads{0};

void server() {
    const int pid = getpid();
    CHECK_EQ(ask(pid), "");
    const std::string large(1 << 20, 'x');
    int asked = 0;
    {
        HangServer answers(
            pid,
            [&] {
                ++asked;
                return asked == 1 ? std::string("first") : large;
            },
            [] { ++threads; });
        CHECK(answers.listens());
        CHECK_EQ(ask(pid), "first");
        CHECK(ask(pid) == large);
        // The name is taken: the second goes without, and the first goes on.
        HangServer second(pid, [] { return std::string(); }, [] {});
        CHECK(!second.listens());
        CHECK(ask(pid) == large);
    }
    CHECK_EQ(asked, 3);
    CHECK_EQ(threads.load(), 1);
    CHECK_EQ(ask(pid), "");
}

void an_answer_that_fails() {
    HangServer answers(getpid(), []() -> std::string { throw std::runtime_error("no"); }, [] {});
    CHECK_EQ(ask(getpid()), "");
    CHECK_EQ(ask(getpid()), "");
}

}  // namespace

int main() {
    sentences();
    json();
    stores();
    stores_to_many_objects();
    stores_of_many_sites();
    groups_of_waits();
    collectives();
    server();
    an_answer_that_fails();
    return test::summary("hang");
}
