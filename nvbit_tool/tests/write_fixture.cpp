// Writes traces with the real writer, for the Python reader's tests:  write_fixture KIND FILE,  or  write_fixture schema
//   small    a ring over two GPUs: every table has rows, about 3 KB
//   blocks   the same with 200000 records, many blocks
//   killed   `small` without its end, as a killed process leaves it
//   exiting  `small` by a process whose destructors free the second object
//   crashing the same, and then the process crashes while it exits
//   empty    a process that recorded nothing
//   sourced  a kernel whose source files, beside FILE, are in the trace: one was deleted before the line in it was reached, one was too
//            large, one is the same as the first, one is not UTF-8, one was never there, of one no line was reached
//   given    the accesses that standard input holds, a GivenAccess each
// and as a specification of what is in them: tests/integration.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "settings/output_path.h"
#include "trace/catalog.h"
#include "trace/owners.h"
#include "trace/record_writer.h"
#include "trace/trace_header.h"
#include "trace/trace_writer.h"

using namespace snoopie;

namespace {

constexpr uint64_t kStart = 1790000000000000000;

struct __attribute__((packed)) GivenAccess {
    u4 launch;
    u4 site;
    u1 issuer;
    u1 owner;
    u4 mask;
    u8 time;
    u8 block;
    u1 warp;
    u8 base;
    i8 stride;
};

std::string header(uint32_t gpu_count) {
    ToolInfo tool{"0.1.0", "1.7.7.1", "13.0", "13.0"};
    ProcessInfo process;
    process.host = "node1";
    process.pid = 4711;
    process.program = "ring";
    process.command = {"./ring", "64", "2"};
    process.directory = "/home/u";
    process.start_ns = kStart;
    process.run = {"slurm-77.0", IdOf::run};
    process.environment = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
    process.ranks = {{"OMPI_COMM_WORLD_RANK", "0"}};
    std::vector<GpuInfo> gpus;
    for (uint32_t i = 0; i < gpu_count; ++i)
        gpus.push_back({"GPU-0000000" + std::to_string(i), "NVIDIA H200", "0000:1" + std::to_string(i) + ":00.0", 150754820096, 90, 18});
    return header_json(tool, Options{}, "/home/u/snoopie-ring.4711.zst", process, gpus, {{0, 1, true, true, 0}, {1, 0, true, true, 0}});
}

FunctionDescription put() {
    FunctionDescription function{"put(float*, int)", "_Z3putPfi", true, true, {}};
    const LineChain inlined = {{"/home/u/store.h", 7, "store"}, {"/home/u/ring.cu", 12, ""}};
    function.sites.push_back({0x70, "LDG.E R4, desc[UR4][R2.64]", "LDG.E", Operation::load, 4, true, {{"/home/u/ring.cu", 11, ""}}});
    function.sites.push_back({0x90, "STG.E desc[UR4][R6.64], R5", "STG.E", Operation::store, 4, true, inlined});
    function.sites.push_back(
        {0xb0, "UBLKCP.S.G [UR8], [UR4], UR6", "UBLKCP.S.G", Operation::load, 16, true, {{"/home/u/ring.cu", 14, ""}}});
    function.sites.push_back({0xd0, "UTMALDG.2D [UR8], [UR4]", "UTMALDG.2D", Operation::load, 0, false, {{"/home/u/ring.cu", 15, ""}}});
    return function;
}

FunctionDescription bump() {
    FunctionDescription function{"bump(int*)", "_Z4bumpPi", true, false, {}};
    function.sites.push_back(
        {0x50, "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R5", "REDG.E.ADD.STRONG.GPU", Operation::reduction, 4, true, {}});
    return function;
}

// Two beats of two threads; single calls of one of them.
void write_calls(TraceWriter& writer) {
    const u4 launch = writer.intern("cuLaunchKernel"), allocate = writer.intern("cuMemAlloc_v2"), copy = writer.intern("cuMemcpyDtoH_v2");
    const u4 put = writer.intern("put(float*, int)");
    const u1 to_host = static_cast<u1>(Direction::device_to_host);
    for (u8 beat = 1; beat <= 2; ++beat) {
        const u8 time = kStart + 1000 * beat;
        writer.append(CallTotalRow{time, launch, put, 4711, 0, 0, 2, 0, 3000 * beat, 1000 * beat, 2000 * beat, 0});
        for (const u8 log2 : {8 + beat, 9 + beat}) writer.append(CallTimeRow{launch, 4711, 0, static_cast<u1>(log2), 1});
        writer.append(CallTotalRow{time, copy, 0, 4712, 1, to_host, 1, 0, 500, 500, 500, 4096});
        writer.append(CallTimeRow{copy, 4712, 1, 8, 1});
    }
    writer.append(CallTotalRow{kStart + 2000, allocate, 0, 4711, kOwnerUnknown, 0, 2, 1, 100, 40, 60, 4096});
    writer.append(CallTimeRow{allocate, 4711, kOwnerUnknown, 5, 2});
    writer.append(CallErrorRow{allocate, 4711, kOwnerUnknown, 2, writer.intern("CUDA_ERROR_OUT_OF_MEMORY"), 1});
    writer.append(CallRow{1, copy, 0, 4712, 1, to_host, kStart + 1000, kStart + 1500, 0, 4096});
    writer.append(CallRow{2, allocate, 0, 4711, kOwnerUnknown, 0, kStart + 1600, kStart + 1660, 2, 0});
}

// Three stacks, each with the one before it as its caller: a line of Python, code with an inlined function, a library without symbols.
void write_stacks(TraceWriter& writer) {
    const auto text = [&](const char* string) { return writer.intern(string); };
    writer.append(ModuleRow{1, text("/home/u/ring"), text("ab01")});
    writer.append(ModuleRow{2, text("/usr/lib/libx.so"), 0});
    writer.append(FrameRow{1, 0, 0});
    writer.append(FrameRow{2, 1, 0x1234});
    writer.append(FrameRow{3, 2, 0x2000});
    writer.append(SymbolRow{1, 0, text("Ring.step"), text("/home/u/ring.py"), 12, text("ring.step(x)")});
    for (u4 stack = 1; stack <= 3; ++stack) writer.append(StackRow{stack, stack, stack - 1});
    // When the process ends.
    writer.append(SymbolRow{2, 0, text("store(float*)"), text("/home/u/store.h"), 7, 0});
    writer.append(SymbolRow{2, 1, text("main"), text("/home/u/ring.cu"), 20, text("store(x);")});
}

void write_rows(TraceWriter& writer, Catalog& catalog, uint32_t records) {
    const Catalog::Entry put_entry = catalog.add(put());
    const Catalog::Entry bump_entry = catalog.add(bump());
    write_stacks(writer);
    const u4 alloc_call = writer.intern("cuMemAlloc_v2");
    for (uint32_t gpu = 0; gpu < 2; ++gpu)
        writer.append(
            ObjectRow{gpu + 1, 0x7f0000000000 + gpu * 0x200000ull, 4096, static_cast<u1>(gpu), 0, kStart + gpu, 4711, alloc_call, gpu + 1});
    writer.append(SetRow{kFirstSet, 0});
    writer.append(SetRow{kFirstSet, 1});
    writer.append(ObjectRow{3, 0x7f4000000000, 0x200000, kFirstSet, static_cast<u1>(ObjectKind::multicast), kStart + 2});
    RecordWriter accesses(&writer);
    uint32_t launch = 0;
    for (uint32_t gpu = 0; gpu < 2; ++gpu) {
        const u1 owner = static_cast<u1>(1 - gpu);
        const uint64_t target = 0x7f0000000000 + owner * 0x200000ull;
        writer.append(
            LaunchRow{++launch, put_entry.function, static_cast<u1>(gpu), 0, 4711, kStart + 100 * launch, 2, 1, 1, 32, 1, 1, 0, 0, 2});
        // One access to the object, one to memory that others share.
        writer.append(CountRow{launch, put_entry.first_site + 1, owner, 1, 32, 8, owner + 1u});
        writer.append(CountRow{launch, put_entry.first_site + 1, owner, 1, 32, 8, 0});
        Access access{launch, put_entry.first_site + 1, static_cast<u1>(gpu), owner, 0xFFFFFFFF, 0, 0, 0};
        for (uint32_t i = 0; i < records; ++i) {
            access.time = 5000 + i;
            access.block = i % 2;
            access.sm = static_cast<u2>(100 + i % 2);
            accesses.strided(access, target + i % 2 * 128, 4);
        }
        // A bulk copy of 64 × 16 bytes, and an instruction of which there is only how often it ran.
        writer.append(CountRow{launch, put_entry.first_site + 2, owner, 1, 64, 32});
        accesses.bulk({launch, put_entry.first_site + 2, static_cast<u1>(gpu), owner, 0b100, 5500, 1, 2, 101}, target + 256, 1024);
        writer.append(CountRow{launch, put_entry.first_site + 3, kOwnerUnknown, 2, 2, 0});
        writer.append(CollectiveRow{gpu + 1, 1, writer.intern("AllReduce"), writer.intern("sum"), writer.intern("float32"), 256, 1024, -1,
                                    0xfeedfacecafebeef, gpu, 2, static_cast<u1>(gpu), 0x1000 + gpu, 4711, kStart + 10, kStart + 20});
        writer.append(
            LaunchRow{++launch, bump_entry.function, static_cast<u1>(gpu), 0, 4711, kStart + 100 * launch, 1, 1, 1, 32, 1, 1, 0, 1});
        writer.append(CountRow{launch, bump_entry.first_site, owner, 1, 3, 2});
        const u8 addresses[32] = {target, target + 4, 0, target + 64};
        accesses.scattered({launch, bump_entry.first_site, static_cast<u1>(gpu), owner, 0b1011, 6000, 0, 0}, addresses);
        accesses.flush();
    }
    const u4 memcpy_call = writer.intern("cuMemcpyHtoDAsync_v2"), graph_call = writer.intern("cuGraphLaunch");
    writer.append(CopyRow{1, static_cast<u1>(CopyKind::linear), memcpy_call, kOwnerHost, 0, 0x5000, 0x7f0000000000, 4096, 0, 0x1000, 4711,
                          kStart + 30, kStart + 40, 3});
    writer.append(CopyRow{2, static_cast<u1>(CopyKind::graph), graph_call, 0, 1, 0x7f0000000000, 0x7f0000200000, 512, 0, 0x1000, 4711,
                          kStart + 50, kStart + 55});
    // Not of the launch of GPU 1's put, as of one by a graph.
    for (const u4 spanned : {1u, 2u, 4u}) writer.append(SpanRow{spanned, kStart + 100 * spanned + 20, kStart + 100 * spanned + 90});
    write_calls(writer);
    // GPU 1's put waits twice for what GPU 0 stores.
    writer.append(WaitRow{3, put_entry.first_site, 1, 1, 1, 2, 0x7f0000200080, 2, 0, 90, 7000, 9500, 2100, 2000, 2050});
    writer.append(MoveRow{3, put_entry.first_site, 1, 1, 3, 6900, 9900});
    writer.append(SamplingRow{put_entry.function, 0, 10, 1});
    writer.append(FreeRow{1, kStart + 1000, 4712});
    writer.append(NoticeRow{kStart + 1, "GPU 1 learned of an allocation too late: accesses to it may be missing"});
}

// One access by each line: FILE.gone.cu is the first file, the others are inlined there.
void write_sourced(TraceWriter& writer, const std::string& path) {
    const auto file = [&](const char* name, const std::string& text) {
        std::ofstream(path + name, std::ios::binary) << text;
        return path + name;
    };
    CompiledSources compiled;
    Sources sources(&writer, &compiled);
    Catalog catalog(&writer, &sources);
    const std::string gone = file(".gone.cu", "// put\n__global__ void put(float* x) { store(x); }\n");
    const std::string files[] = {file(".twin.cu", "// put\n__global__ void put(float* x) { store(x); }\n"),
                                 file(".odd.cu", "// \xE9t\xE9\n\xC3\xA9\n"),
                                 file(".large.cu", std::string(Sources::Limits().file + 1, 'x')), path + ".never.cu"};
    FunctionDescription put{"put(float*)", "_Z3putPf", true, true, {}};
    for (u4 i = 0; i < 4; ++i)
        put.sites.push_back({16 * i, "STG.E", "STG.E", Operation::store, 4, true, {{files[i], 1, "store"}, {gone, 2, ""}}});
    put.sites.push_back({64, "STG.E", "STG.E", Operation::store, 4, true, {{file(".local.cu", "local"), 1, ""}}});
    const Catalog::Entry entry = catalog.add(put);
    std::remove(gone.c_str());
    writer.append(LaunchRow{1, entry.function, 0, 0, 4711, kStart + 1, 1, 1, 1, 32, 1, 1, 0});
    for (u4 i = 0; i < 4; ++i) {
        writer.append(CountRow{1, entry.first_site + i, 1, 1, 32, 8, 0});
        catalog.reached({entry.first_site + i});
    }
}

// Launches and instructions only as far as the accesses name them.
uint64_t write_given(TraceWriter& writer, Catalog& catalog) {
    std::vector<GivenAccess> given;
    for (GivenAccess access; std::fread(&access, sizeof access, 1, stdin) == 1;) given.push_back(access);
    FunctionDescription kernel{"kernel()", "_Z6kernelv", true, false, {}};
    u4 sites = 0, launches = 0;
    for (const GivenAccess& access : given) {
        sites = std::max(sites, u4{access.site});
        launches = std::max(launches, u4{access.launch});
    }
    for (u4 site = 0; site < sites; ++site) kernel.sites.push_back({16 * site, "STG.E", "STG.E", Operation::store, 4, true, {}});
    const Catalog::Entry entry = catalog.add(kernel);
    for (u4 launch = 1; launch <= launches; ++launch)
        writer.append(LaunchRow{launch, entry.function, 0, 0, 4711, kStart + launch, 1, 1, 1, 32, 1, 1, 0});
    RecordWriter accesses(&writer);
    for (const GivenAccess& access : given) {
        accesses.strided({access.launch, access.site, access.issuer, access.owner, access.mask, access.time, access.block, access.warp},
                         access.base, access.stride);
        if (accesses.pending() >= 4096) accesses.flush();
    }
    accesses.flush();
    return given.size();
}

// What is left to do when main has ended.
struct Exiting {
    TraceWriter* writer = nullptr;
    Totals totals;
    bool crashes = false;

    ~Exiting() {
        if (!writer) return;
        writer->append(FreeRow{2, kStart + 1950});
        if (crashes) {
            usleep(2000 * TraceWriter::kBlockMilliseconds);
            std::abort();
        }
    }
} exiting;

// Registered before all that the program registers.
__attribute__((constructor(101))) void at_load() {
    std::atexit([] {
        if (exiting.writer) exiting.writer->finish(footer_json(kStart + 1900, kStart + 2000, exiting.totals));
    });
}

}  // namespace

int main(int argc, char** argv) {
    const std::string kind = argc > 1 ? argv[1] : "";
    if (kind == "schema") {
        std::puts(schema_json().c_str());
        return 0;
    }
    constexpr const char* kKinds[] = {"small", "blocks", "killed", "exiting", "crashing", "empty", "sourced", "given"};
    if (argc != 3 || std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds)) {
        std::fprintf(stderr, "write_fixture small|blocks|killed|exiting|crashing|empty|sourced|given FILE, or write_fixture schema\n");
        return 2;
    }
    std::string why;
    OutputFile file{argv[2], false};
    const int fd = create_output(&file, &why);
    if (fd < 0) {
        std::fprintf(stderr, "%s\n", why.c_str());
        return 1;
    }
    TraceWriter writer(fd, header(kind == "given" ? 4 : 2), {});
    Catalog catalog(&writer);
    Totals totals;
    const uint32_t records = kind == "blocks" ? 100000 : 2;
    if (kind == "given") {
        totals.records_written = write_given(writer, catalog);
    } else if (kind == "sourced") {
        write_sourced(writer, argv[2]);
        totals.accesses = 4;
    } else if (kind != "empty") {
        write_rows(writer, catalog, records);
        totals.launches_seen = 5;
        totals.launches_native = 1;
        totals.launches_measured = 4;
        totals.accesses = 12;
        totals.copies = 2;
        totals.copy_bytes = 4096 + 512;
        totals.records_written = 2 * records + 4;
        totals.unmeasured_sites = catalog.unmeasured_sites();
    }
    if (kind == "killed") {
        usleep(2000 * TraceWriter::kBlockMilliseconds);
        _exit(0);
    }
    if (kind == "exiting" || kind == "crashing") {
        exiting.writer = &writer;
        exiting.totals = totals;
        exiting.crashes = kind == "crashing";
        // As in the collector: registered after the object whose destructor frees.
        std::atexit([] { exiting.writer->checkpoint(footer_json(kStart + 1900, kStart + 1900, exiting.totals)); });
        std::exit(0);
    }
    writer.finish(footer_json(kStart + 1900, kStart + 2000, totals));
    return writer.error().empty() ? 0 : 1;
}
