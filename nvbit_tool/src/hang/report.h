// What is under way in a process whose kernels seem to wait: for people at a terminal, and as JSON for `snoopie hang`, which joins the
// reports of several processes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace snoopie {

// A GPU by its place in HangReport::gpus, or one of these.
constexpr int kHostMemory = -1, kUnknownMemory = -2;

// A line that has stored to some memory so far.
struct HangStore {
    std::string place;  // "ring.cu:9", or the kernel where the line is not known
    int gpu = 0;        // that runs it
    int owner = 0;      // of the memory
    uint64_t accesses = 0;
};

// Warps that poll one allocation at one line.
struct HangWait {
    std::string place;
    std::string instruction;
    uint64_t warps = 0;
    uint64_t blocks = 0;
    uint64_t first_block = 0;
    double seconds = 0;    // of the one that waits longest, and
    uint64_t address = 0;  // what it polls; 0 = unknown
    int owner = kUnknownMemory;
    uint32_t object = 0;  // its number in the trace, 0 = none that is known
    uint64_t object_bytes = 0;
    uint64_t offset = 0;            // in the object
    std::vector<HangStore> stores;  // to the object, most accesses first
};

struct HangCollective {
    std::string operation;
    std::string type;
    uint64_t count = 0;
    uint64_t communicator = 0;
    uint64_t sequence = 0;  // it is this rank's so manieth call on the communicator, from 1
    int rank = 0;
    int ranks = 0;
    int peer = -1;
};

struct HangKernel {
    uint32_t launch = 0;
    std::string name;
    int gpu = 0;
    double seconds = 0;  // since its launch
    std::vector<HangCollective> collectives;
    std::vector<HangWait> waits;
};

struct HangReport {
    int pid = 0;
    std::string host;
    std::string program;
    std::map<std::string, std::string> ranks;  // what the launcher said, as in a trace's header
    std::string trace;
    bool waits_recorded = false;
    bool answered = true;               // the GPUs could be looked at
    std::vector<std::string> gpus;      // UUIDs
    std::vector<HangKernel> kernels;    // launched and not ended, as far as they are measured
    std::string last_kernel;            // launched last, "" = none
    double last_seconds = 0;            // since then
    std::vector<HangCollective> calls;  // the last on each communicator
    std::vector<HangStore> stores;      // to GPUs' memory, most accesses first
};

constexpr int kHangReportVersion = 1;
std::string json_of(const HangReport& report);

// For people: a sentence a kernel and wait. They name GPUs by their places.
std::vector<std::string> sentences_of(const HangReport& report);

}  // namespace snoopie
