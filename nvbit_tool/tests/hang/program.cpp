// Answers as a process under the collector does, until its standard input ends:  program RANK SEQUENCE OPERATION [STORES]
// Its kernel waits at ring.cu:7 for memory of its own GPU, RANK; with STORES it has stored to the other's, at ring.cu:9.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "hang/report.h"
#include "hang/server.h"

using namespace snoopie;

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const int rank = std::atoi(argv[1]);
    HangReport report;
    report.pid = getpid();
    report.host = "node1";
    report.program = "ring";
    report.ranks = {{"RANK", argv[1]}, {"WORLD_SIZE", "2"}};
    report.waits_recorded = true;
    report.gpus = {"GPU-a", "GPU-b"};
    const HangCollective call{argv[3], "float32", 1024, 0xfeed, static_cast<uint64_t>(std::atoi(argv[2])), rank, 2, -1};
    report.calls = {call};
    HangKernel kernel;
    kernel.launch = 7;
    kernel.name = "ring";
    kernel.gpu = rank;
    kernel.seconds = 90;
    kernel.collectives = {call};
    HangWait wait;
    wait.place = "ring.cu:7";
    wait.warps = 2;
    wait.blocks = 1;
    wait.seconds = 61;
    wait.address = 0x7f0000000040;
    wait.owner = rank;
    wait.object = 5;
    wait.object_bytes = 4096;
    wait.offset = 64;
    kernel.waits = {wait};
    report.kernels = {kernel};
    if (argc > 4) report.stores = {{"ring.cu:9", rank, 1 - rank, 12}};
    HangServer server(report.pid, [&] { return json_of(report); }, [] {});
    if (!server.listens()) return 1;
    if (write(STDOUT_FILENO, "\n", 1) != 1) return 1;
    char end;
    while (read(STDIN_FILENO, &end, 1) > 0) {
    }
    return 0;
}
