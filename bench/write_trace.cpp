// Writes a trace of a given size with the collector's own writer:  write_trace LANE_ACCESSES FILE
//
// What a ring and a stencil over four GPUs record, taken from no GPU: per launch 1024 accesses to the two neighbours, of which most are
// whole warps with consecutive addresses (stores of 4 bytes, loads of 16), some have inactive lanes, some hit one address (reductions),
// some are scattered. Launches and their counts agree with the records to the last lane. Prints JSON: what was written, and how long it
// took.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "settings/output_path.h"
#include "trace/catalog.h"
#include "trace/owners.h"
#include "trace/record_writer.h"
#include "trace/site_word.h"
#include "trace/trace_header.h"
#include "trace/trace_writer.h"

using namespace snoopie;

namespace {

constexpr uint64_t kStart = 1790000000000000000;
constexpr uint32_t kGpus = 4;
constexpr uint32_t kAccesses = 1024;  // of a launch
constexpr size_t kRowsAtOnce = 4096;  // as the collector hands them over
constexpr uint32_t kWarpsInBlock = 8;
constexpr uint32_t kSms = 132;
constexpr uint64_t kHeap = 0x7f0000000000, kHeapBytes = 1ull << 30;

// A linear congruential generator (Knuth's MMIX): the same trace everywhere.
class Random {
  public:
    uint32_t below(uint32_t limit) {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<uint32_t>((state_ >> 32) * limit >> 32);
    }

  private:
    uint64_t state_ = 4711;
};

FunctionDescription function(const std::string& name, const std::string& mangled, std::vector<SiteDescription> sites) {
    return {name, mangled, true, true, std::move(sites)};
}

SiteDescription site(uint32_t offset, const char* opcode, Operation operation, uint8_t width, uint32_t line) {
    return {offset, std::string(opcode) + " …", opcode, operation, width, true, {{"/home/u/halo.cu", line, ""}}};
}

class Recording {
  public:
    explicit Recording(TraceWriter* writer) : writer_(writer), catalog_(writer), records_(writer) {
        exchange_ = catalog_.add(function("exchange(float*, float4 const*, int)", "_Z8exchangePfPK6float4i",
                                          {site(0x70, "STG.E", Operation::store, 4, 21), site(0x90, "STG.E", Operation::store, 4, 24),
                                           site(0xb0, "LDG.E.128", Operation::load, 16, 27)}));
        gather_ =
            catalog_.add(function("gather(double*, int const*, int)", "_Z6gatherPdPKii",
                                  {site(0x50, "LDG.E.64", Operation::load, 8, 41), site(0x80, "LDG.E.128", Operation::load, 16, 43)}));
        residual_ = catalog_.add(
            function("residual(float*)", "_Z8residualPf",
                     {site(0x60, "REDG.E.ADD.F32", Operation::reduction, 4, 58), site(0xa0, "STG.E", Operation::store, 4, 61)}));
        for (uint32_t gpu = 0; gpu < kGpus; ++gpu)
            writer_->append(ObjectRow{gpu + 1, kHeap + gpu * kHeapBytes, kHeapBytes, static_cast<u1>(gpu), 0, kStart + gpu});
    }

    // One launch with as many lane accesses as are left, and at most kAccesses accesses.
    void launch(uint64_t left) {
        const u4 id = ++launches;
        const u1 gpu = static_cast<u1>(id % kGpus);
        const Catalog::Entry& kernel = id / kGpus % 8 == 7 ? residual_ : id / kGpus % 4 == 3 ? gather_ : exchange_;
        writer_->append(LaunchRow{id, kernel.function, gpu, 0x1000u + gpu, 4711, kStart + 1000000 + 20000ull * id,
                                  kAccesses / kWarpsInBlock, 1, 1, 32 * kWarpsInBlock, 1, 1, 0});
        const uint64_t begin = lanes;
        for (uint32_t i = 0; i < kAccesses && lanes - begin < left; ++i) access(id, gpu, kernel, i, left - (lanes - begin));
        std::vector<CountRow> rows;
        for (const auto& [place, sums] : counts_) rows.push_back({id, place.first, place.second, sums.accesses, sums.lanes, sums.units});
        counts_.clear();
        writer_->append(rows);
    }

    void flush() { records_.flush(); }

    uint64_t lanes = 0, accesses = 0;
    uint32_t launches = 0;

  private:
    struct Sums {
        uint64_t accesses, lanes, units;
    };

    void access(u4 id, u1 gpu, const Catalog::Entry& kernel, uint32_t number, uint64_t left) {
        // Blocks run side by side, so their warps come mixed; each works on its own piece of the neighbour's array.
        const uint32_t block = (number / 64) * 8 + random_.below(8), warp = number / 8 % kWarpsInBlock;
        const u1 owner = static_cast<u1>((gpu + (block % 2 ? 1 : kGpus - 1)) % kGpus);
        const uint64_t thread = (static_cast<uint64_t>(block) * kWarpsInBlock + warp) * 32;
        const uint32_t dice = random_.below(100);
        uint32_t which = 0, mask = 0xFFFFFFFF, width = 4;
        int64_t stride = 4;
        bool scattered = false;
        if (kernel.function == exchange_.function) {
            which = dice < 55 ? 0 : dice < 65 ? 1 : 2;
            if (which == 1) mask = 0xFFFFFFFF >> (1 + random_.below(31));  // the edge of a field
            if (which == 2) width = 16, stride = 16;
        } else if (kernel.function == gather_.function) {
            scattered = dice < 40;
            which = scattered ? 0 : 1;
            width = scattered ? 8 : 16;
            stride = width;
        } else {
            which = dice < 80 ? 0 : 1;
            if (which == 0) stride = 0;
        }
        while (static_cast<uint64_t>(__builtin_popcount(mask)) > left) mask &= mask - 1;
        const u4 at = kernel.first_site + which;
        time_ += 32 * random_.below(3);
        const uint64_t base = kHeap + owner * kHeapBytes + (kernel.function << 20) + which * 0x80000 + (stride ? thread * width : 0);
        const uint64_t active = static_cast<uint64_t>(__builtin_popcount(mask));
        const bool writes = kernel.function == residual_.function || (kernel.function == exchange_.function && which < 2);
        const uint64_t unit = wire_unit(writes ? Operation::store : Operation::load, static_cast<uint8_t>(width));
        std::set<uint64_t> units;
        const auto touch = [&](uint64_t address) { units.insert(address / unit); };
        const Access made{id, at, gpu, owner, mask, time_, block, static_cast<u1>(warp), static_cast<u2>(1 + block % kSms)};
        if (scattered) {
            u8 addresses[32] = {};
            for (uint32_t lane = 0; lane < 32; ++lane) {
                if (!(mask >> lane & 1)) continue;
                addresses[lane] = base - thread * width + 8ull * random_.below(1 << 16);
                touch(addresses[lane]);
            }
            records_.scattered(made, addresses);
        } else {
            records_.strided(made, base, stride);
            for (uint64_t i = 0; i < active; ++i) touch(base + stride * i);
        }
        Sums& sums = counts_[{at, owner}];
        sums.accesses += 1;
        sums.lanes += active;
        sums.units += units.size();
        lanes += active;
        ++accesses;
        if (records_.pending() >= kRowsAtOnce) flush();
    }

    TraceWriter* const writer_;
    Catalog catalog_;
    Catalog::Entry exchange_, gather_, residual_;
    Random random_;
    uint64_t time_ = 5000000000;
    RecordWriter records_;
    std::map<std::pair<u4, u1>, Sums> counts_;
};

std::string header() {
    ProcessInfo process;
    process.host = "node1";
    process.pid = 4711;
    process.program = "halo";
    process.command = {"./halo"};
    process.directory = "/home/u";
    process.start_ns = kStart;
    std::vector<GpuInfo> gpus;
    std::vector<LinkInfo> links;
    for (int gpu = 0; gpu < static_cast<int>(kGpus); ++gpu) {
        const std::string digit = std::to_string(gpu);
        gpus.push_back({"GPU-0000000" + digit, "NVIDIA H200", "0000:1" + digit + ":00.0", 150754820096, 90, 18});
        for (int other = 0; other < static_cast<int>(kGpus); ++other)
            if (other != gpu) links.push_back({gpu, other, true, true, 0});
    }
    return header_json(ToolInfo{"0.1.0", "1.7.7.1", "13.0", "13.0"}, Options{}, "/home/u/snoopie-halo.4711.zst", process, gpus, links);
}

// The largest memory of this process, in bytes. (That of getrusage begins with what the parent had.)
uint64_t peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const uint64_t wanted = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
    if (wanted == 0) {
        std::fprintf(stderr, "write_trace LANE_ACCESSES FILE\n");
        return 2;
    }
    std::string why;
    OutputFile file{argv[2], false};
    const int fd = create_output(&file, &why);
    if (fd < 0) {
        std::fprintf(stderr, "%s\n", why.c_str());
        return 1;
    }
    const auto start = std::chrono::steady_clock::now();
    TraceWriter writer(fd, header(), {});
    Recording recording(&writer);
    while (recording.lanes < wanted) recording.launch(wanted - recording.lanes);
    recording.flush();
    Totals totals;
    totals.launches_seen = totals.launches_measured = recording.launches;
    totals.accesses = totals.records_written = recording.accesses;
    writer.finish(footer_json(kStart + 2000000000, kStart + 2000000000, totals));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!writer.error().empty()) {
        std::fprintf(stderr, "%s\n", writer.error().c_str());
        return 1;
    }
    std::printf("{\"lanes\": %llu, \"records\": %llu, \"launches\": %u, \"bytes\": %llu, \"seconds\": %.3f, \"peak\": %llu}\n",
                static_cast<unsigned long long>(recording.lanes), static_cast<unsigned long long>(recording.accesses), recording.launches,
                static_cast<unsigned long long>(writer.bytes_written()), seconds, static_cast<unsigned long long>(peak_memory()));
    return 0;
}
