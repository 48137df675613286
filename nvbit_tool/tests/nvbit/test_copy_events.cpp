// The events of copies, arrays and graphs as a driver sends them, and which copies are recorded. The driver is played by this file.
#include <stdlib.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calls/arrays.h"
#include "calls/copies.h"
#include "check.h"
#include "driver/driver.h"
#include "trace_file.h"

using namespace snoopie;

namespace {

template <class Handle>
Handle handle(uint64_t value) {
    return reinterpret_cast<Handle>(value);
}

const CUcontext kContext0 = handle<CUcontext>(10);
const CUcontext kContext1 = handle<CUcontext>(11);
const CUstream kStream = handle<CUstream>(0x70);
const CUstream kCapturing = handle<CUstream>(0x71);

// Memory at 0x1000 is on GPU 0, at 0x2000 on GPU 1.
constexpr CUdeviceptr kOn0 = 0x1000;
constexpr CUdeviceptr kOn1 = 0x2000;
void* const kHost = handle<void*>(0x9000);

struct Node {
    CUgraphNodeType type;
    size_t bytes = 0;    // of a memcpy node, from GPU 0 to GPU 1
    uint64_t child = 0;  // graph
};
std::map<uint64_t, std::vector<uint64_t>> graphs;
std::map<uint64_t, Node> nodes;
std::optional<uint8_t> prefetched;
CUgraphNode newest = nullptr;  // that a capture made

}  // namespace

namespace snoopie {

std::atomic<uint64_t> driver_errors{0};
OwnCalls::OwnCalls() : outermost_(false) {}
OwnCalls::~OwnCalls() = default;
bool capturing(CUstream stream) { return stream == kCapturing; }
CUgraphNode last_captured(CUstream stream) { return stream == kCapturing ? newest : nullptr; }
CUcontext context_of(CUstream, CUcontext current) { return current; }
std::optional<uint8_t> last_prefetched_to(CUdeviceptr, size_t) { return prefetched; }

}  // namespace snoopie

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* found, size_t* count) {
    CHECK(OwnCalls::active());
    const std::vector<uint64_t>& all = graphs.at(reinterpret_cast<uint64_t>(graph));
    *count = all.size();
    for (size_t i = 0; found && i < all.size(); ++i) found[i] = handle<CUgraphNode>(all[i]);
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    *type = nodes.at(reinterpret_cast<uint64_t>(node)).type;
    return CUDA_SUCCESS;
}
static CUDA_MEMCPY3D node_of(size_t bytes) {
    CUDA_MEMCPY3D params{};
    params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = kOn0;
    params.dstDevice = kOn1;
    params.WidthInBytes = bytes;
    params.Height = params.Depth = 1;
    return params;
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
    *params = node_of(nodes.at(reinterpret_cast<uint64_t>(node)).bytes);
    return CUDA_SUCCESS;
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
    *graph = handle<CUgraph>(nodes.at(reinterpret_cast<uint64_t>(node)).child);
    return CUDA_SUCCESS;
}
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray) {
    descriptor->Format = CU_AD_FORMAT_FLOAT;
    descriptor->NumChannels = 2;
    return CUDA_SUCCESS;
}

namespace {

// A process with GPUs 0 and 1, and the collector's part that is under test.
class Process : private OwnerLookup {
  public:
    Process()
        : writer_(mkstemp(name_), "{}", {}),
          copies_(
              &writer_, static_cast<const OwnerLookup*>(this), &window, &stacks, [this] { return stack; }, [this] { return recording; },
              [this](const char* what) { notices.insert(what); }) {}
    ~Process() override {
        writer_.finish("{}");
        unlink(name_);
    }

    template <class Params>
    void call(nvbit_api_cuda_t cbid, const Params& params, bool succeeds = true, CUcontext context = kContext0) {
        enter(cbid, params, context);
        leave(cbid, params, succeeds, context);
    }
    template <class Params>
    void enter(nvbit_api_cuda_t cbid, const Params& params, CUcontext context = kContext0) {
        copied = copies_.at_event(context, false, cbid, "call", &params, false);
    }
    template <class Params>
    void leave(nvbit_api_cuda_t cbid, const Params& params, bool succeeds = true, CUcontext context = kContext0) {
        if (succeeds) arrays_.at_event(context, cbid, &params);
        copies_.at_event(context, true, cbid, "call", &params, succeeds);
    }

    // Copies and their bytes since the last time that it was asked.
    std::pair<uint64_t, uint64_t> recorded() {
        const std::pair<uint64_t, uint64_t> since{copies_.count() - count_, copies_.bytes() - bytes_};
        count_ = copies_.count();
        bytes_ = copies_.bytes();
        return since;
    }

    // Ends the trace: who made each copy, by its last column.
    std::vector<uint32_t> written_stacks() {
        writer_.finish("{}");
        std::vector<uint32_t> found;
        for (const test::Block& block : test::read(name_)) {
            if (block.table != static_cast<uint32_t>(Table::copies)) continue;
            for (uint32_t left = block.rows; left > 0; --left)
                found.push_back(test::get<uint32_t>(block.content, block.content.size() - sizeof(uint32_t) * left));
        }
        return found;
    }

    bool recording = true;
    uint32_t stack = 0;
    GraphStacks stacks;
    Ranges ranges;
    Wanted wanted;
    Window window{Options{}, 0, &wanted, &ranges};
    Copied copied;  // by the call that began last
    std::set<std::string> notices;

  private:
    uint8_t owner_of(uint64_t address) const override {
        if (address == kOn0) return 0;
        return address == kOn1 ? 1 : kOwnerHost;
    }
    uint8_t owner_of_array(CUarray array) const override { return gpu_of(arrays_.context_of(array)); }
    uint8_t gpu_of(CUcontext context) const override {
        if (context == kContext0) return 0;
        return context == kContext1 ? 1 : kOwnerUnknown;
    }
    std::optional<uint8_t> owner_by_driver(uint64_t) const override { return std::nullopt; }

    char name_[32] = "/tmp/snoopie-test-XXXXXX";
    TraceWriter writer_;
    Arrays arrays_;
    Copies copies_;
    uint64_t count_ = 0;
    uint64_t bytes_ = 0;
};

using Recorded = std::pair<uint64_t, uint64_t>;

void what_is_recorded() {
    Process process;
    process.call(API_CUDA_cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_params{kOn0, kHost, 10});
    CHECK(process.recorded() == (Recorded{1, 10}));
    process.call(API_CUDA_cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_params{kOn0, kHost, 10}, false);  // failed
    process.call(API_CUDA_cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_params{kOn0, kHost, 0});          // nothing
    process.call(API_CUDA_cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_params{kOn0, kOn0, 11});          // within a GPU
    process.call(API_CUDA_cuMemcpy, cuMemcpy_params{0x8000, 0x9000, 12});                    // within the host
    process.call(API_CUDA_cuMemcpyAsync, cuMemcpyAsync_params{kOn0, kOn1, 13, kCapturing});  // becomes a node
    process.call(API_CUDA_cuCtxSynchronize, uint64_t{0});
    CHECK(process.recorded() == (Recorded{0, 0}));
    process.call(API_CUDA_cuMemcpyAsync, cuMemcpyAsync_params{kOn0, kOn1, 14, kStream});
    CHECK(process.recorded() == (Recorded{1, 14}));

    // Calls within a call, as one driver call may make others.
    const cuMemcpyDtoH_v2_params outer{kHost, kOn1, 20};
    process.enter(API_CUDA_cuMemcpyDtoH_v2, outer);
    process.call(API_CUDA_cuCtxSynchronize, uint64_t{0});
    process.call(API_CUDA_cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_params{kOn0, kOn0, 21});
    process.call(API_CUDA_cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_params{kOn0, kOn1, 22});
    CHECK(process.recorded() == (Recorded{1, 22}));
    process.leave(API_CUDA_cuMemcpyDtoH_v2, outer);
    CHECK(process.recorded() == (Recorded{1, 20}));

    CUdeviceptr from[] = {kOn0, kOn0, 0x9000};
    CUdeviceptr to[] = {kOn1, kOn0, kOn1};
    size_t sizes[] = {100, 200, 400};
    cuMemcpyBatchAsync_v2_params batch{};
    batch.srcs = from;
    batch.dsts = to;
    batch.sizes = sizes;
    batch.count = 3;
    batch.hStream = kStream;
    process.call(API_CUDA_cuMemcpyBatchAsync_v2, batch);
    CHECK(process.recorded() == (Recorded{2, 500}));

    process.recording = false;  // a forked child, or after the end
    process.call(API_CUDA_cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_params{kOn0, kHost, 10});
    CHECK(process.recorded() == (Recorded{0, 0}));
}

void prefetches() {
    Process process;
    const auto to_gpu_0 = cuMemPrefetchAsync_params{0x5000, 10, 0, kStream};
    prefetched = std::nullopt;
    process.call(API_CUDA_cuMemPrefetchAsync, to_gpu_0);
    CHECK(process.recorded() == (Recorded{1, 10}));
    prefetched = uint8_t{0};
    process.call(API_CUDA_cuMemPrefetchAsync, to_gpu_0);
    CHECK(process.recorded() == (Recorded{0, 0}));
    prefetched = uint8_t{1};
    process.call(API_CUDA_cuMemPrefetchAsync, to_gpu_0);
    CHECK(process.recorded() == (Recorded{1, 10}));
}

void arrays() {
    Process process;
    CUarray array = handle<CUarray>(0x80);
    CUarray level = handle<CUarray>(0x81);
    CUmipmappedArray mipmap = handle<CUmipmappedArray>(0x82);
    process.call(API_CUDA_cuArrayCreate_v2, cuArrayCreate_v2_params{&array, nullptr}, true, kContext1);
    process.call(API_CUDA_cuMipmappedArrayCreate, cuMipmappedArrayCreate_params{&mipmap, nullptr, 1}, true, kContext1);
    process.call(API_CUDA_cuMipmappedArrayGetLevel, cuMipmappedArrayGetLevel_params{&level, mipmap, 0});
    for (CUarray one : {array, level}) {
        process.call(API_CUDA_cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_params{one, 0, kOn1, 10});
        CHECK(process.recorded() == (Recorded{0, 0}));
        process.call(API_CUDA_cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_params{one, 0, kOn0, 11});
        CHECK(process.recorded() == (Recorded{1, 11}));
    }
    // An extent in elements, here of 8 bytes.
    CUDA_MEMCPY3D_BATCH_OP op{};
    op.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = kOn0;
    op.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    op.dst.op.array.array = array;
    op.extent = {2, 3, 4};
    process.call(API_CUDA_cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_params{1, &op, 0, kStream});
    CHECK(process.recorded() == (Recorded{1, 24 * 8}));

    process.call(API_CUDA_cuArrayDestroy, cuArrayDestroy_params{array});
    process.call(API_CUDA_cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_params{array, 0, kOn1, 12});  // an array of which nothing is known
    CHECK(process.recorded() == (Recorded{1, 12}));
}

void graphs_are_followed() {
    // Graph 1 holds a copy, a kernel and graph 2, which holds a copy. Graphs 3 and 4 look alike with other sizes.
    nodes[11] = {CU_GRAPH_NODE_TYPE_MEMCPY, 100};
    nodes[12] = {CU_GRAPH_NODE_TYPE_KERNEL};
    nodes[13] = {CU_GRAPH_NODE_TYPE_GRAPH, 0, 2};
    nodes[21] = {CU_GRAPH_NODE_TYPE_MEMCPY, 1000};
    nodes[31] = {CU_GRAPH_NODE_TYPE_MEMCPY, 200};
    nodes[32] = {CU_GRAPH_NODE_TYPE_KERNEL};
    nodes[33] = {CU_GRAPH_NODE_TYPE_GRAPH, 0, 4};
    nodes[41] = {CU_GRAPH_NODE_TYPE_MEMCPY, 2000};
    nodes[51] = {CU_GRAPH_NODE_TYPE_KERNEL};
    graphs = {{1, {11, 12, 13}}, {2, {21}}, {3, {31, 32, 33}}, {4, {41}}, {5, {51}}};
    const auto graph = [](uint64_t value) { return handle<CUgraph>(value); };
    const auto node = [](uint64_t value) { return handle<CUgraphNode>(value); };

    Process process;
    CUgraphExec executable = handle<CUgraphExec>(0x90);
    const auto launch = [&](CUstream stream = kStream) {
        process.call(API_CUDA_cuGraphLaunch, cuGraphLaunch_params{executable, stream});
        return process.recorded();
    };
    process.call(API_CUDA_cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags_params{&executable, graph(1), 0}, false);
    CHECK(launch() == (Recorded{0, 0}));
    process.call(API_CUDA_cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags_params{&executable, graph(1), 0});
    CHECK(launch() == (Recorded{2, 1100}));
    CHECK(launch() == (Recorded{2, 1100}));
    CHECK(launch(kCapturing) == (Recorded{0, 0}));

    process.call(API_CUDA_cuGraphExecUpdate_v2, cuGraphExecUpdate_v2_params{executable, graph(3), nullptr}, false);
    CHECK(launch() == (Recorded{2, 1100}));
    process.call(API_CUDA_cuGraphExecUpdate_v2, cuGraphExecUpdate_v2_params{executable, graph(3), nullptr});
    CHECK(launch() == (Recorded{2, 2200}));
    process.call(API_CUDA_cuGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams_params{executable, node(13), graph(2)});
    CHECK(launch() == (Recorded{2, 1200}));
    const CUDA_MEMCPY3D params = node_of(300);
    process.call(API_CUDA_cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams_params{executable, node(11), &params, kContext0});
    CHECK(launch() == (Recorded{2, 1300}));
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    any.memcpy.copyParams = node_of(400);
    process.call(API_CUDA_cuGraphExecNodeSetParams, cuGraphExecNodeSetParams_params{executable, node(11), &any});
    CHECK(launch() == (Recorded{2, 1400}));
    process.call(API_CUDA_cuGraphNodeSetEnabled, cuGraphNodeSetEnabled_params{executable, node(11), 0});
    CHECK(launch() == (Recorded{1, 1000}));
    process.call(API_CUDA_cuGraphNodeSetEnabled, cuGraphNodeSetEnabled_params{executable, node(11), 1});
    CHECK(launch() == (Recorded{2, 1400}));
    process.call(API_CUDA_cuGraphExecDestroy, cuGraphExecDestroy_params{executable});
    CHECK(launch() == (Recorded{0, 0}));
    CHECK(process.notices.empty());

    CUDA_GRAPH_INSTANTIATE_PARAMS from_kernels{};
    from_kernels.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    process.call(API_CUDA_cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_params{&executable, graph(5), &from_kernels});
    CHECK(process.notices.empty());  // no copies in it
    process.call(API_CUDA_cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_params{&executable, graph(2), &from_kernels});
    CHECK_EQ(process.notices.size(), 1u);
    process.call(API_CUDA_cuGraphInstantiate_v2, cuGraphInstantiate_v2_params{&executable, graph(5), nullptr, nullptr, 0});
    CHECK(launch() == (Recorded{0, 0}));  // another graph with this handle
    CHECK_EQ(driver_errors.load(), 0u);
}

// What a capture makes a node of belongs to who called then, if it is known.
void copies_of_graphs_have_their_callers() {
    nodes = {{11, {CU_GRAPH_NODE_TYPE_MEMCPY, 100}}, {12, {CU_GRAPH_NODE_TYPE_MEMCPY, 200}}};
    graphs = {{1, {11, 12}}};
    std::vector<uint32_t> found;
    {
        Process process;
        process.stack = 7;
        newest = handle<CUgraphNode>(11);
        process.call(API_CUDA_cuMemcpyAsync, cuMemcpyAsync_params{kOn0, kOn1, 100, kCapturing});
        newest = handle<CUgraphNode>(12);
        process.enter(API_CUDA_cuMemcpyAsync, cuMemcpyAsync_params{kOn0, kOn1, 200, kCapturing});
        process.leave(API_CUDA_cuMemcpyAsync, cuMemcpyAsync_params{kOn0, kOn1, 200, kCapturing}, false);
        CHECK_EQ(process.stacks.of(handle<CUgraphNode>(11)), 7u);
        CHECK_EQ(process.stacks.of(handle<CUgraphNode>(12)), 0u);
        CUgraphExec executable = handle<CUgraphExec>(0x90);
        process.call(API_CUDA_cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags_params{&executable, handle<CUgraph>(1), 0});
        process.stack = 9;
        process.call(API_CUDA_cuGraphLaunch, cuGraphLaunch_params{executable, kStream});
        found = process.written_stacks();
    }
    CHECK(found == (std::vector<uint32_t>{7, 9}));
}

// What is outside of the time that is recorded is told, but has no row.
void outside() {
    Process process;
    const cuMemcpyAsync_params copy{kOn0, kOn1, 14, kStream};
    process.wanted.by_program(false);
    process.call(API_CUDA_cuMemcpyAsync, copy);
    CHECK(process.recorded() == (std::pair<uint64_t, uint64_t>{0, 0}));
    CHECK_EQ(process.window.copies_outside.load(), 1u);
    CHECK_EQ(process.copied.bytes, 14u);
    process.wanted.by_program(true);
    process.call(API_CUDA_cuMemcpyAsync, copy);
    CHECK(process.recorded() == (std::pair<uint64_t, uint64_t>{1, 14}));
}

// What a call copies altogether, whether it is recorded or not.
void what_a_call_copies() {
    Process process;
    const auto is = [&process](Direction direction, uint64_t bytes) {
        CHECK_EQ(int(process.copied.direction), int(direction));
        CHECK_EQ(process.copied.bytes, bytes);
    };
    process.call(API_CUDA_cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_params{kOn0, kHost, 10});
    is(Direction::host_to_device, 10);
    process.call(API_CUDA_cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_params{kOn0, kOn0, 11});
    is(Direction::device_to_device, 11);
    process.call(API_CUDA_cuMemcpyAsync, cuMemcpyAsync_params{kOn0, kOn1, 14, kStream});
    is(Direction::peer, 14);
    for (const CUdeviceptr from : {kOn0, kOn1}) {
        process.call(API_CUDA_cuMemcpyAsync, cuMemcpyAsync_params{kOn0, from, 13, kCapturing});
        is(Direction::none, 0);
    }
    process.call(API_CUDA_cuCtxSynchronize, uint64_t{0});
    is(Direction::none, 0);
    prefetched = std::nullopt;
    process.call(API_CUDA_cuMemPrefetchAsync, cuMemPrefetchAsync_params{0x5000, 10, 0, kStream});
    is(Direction::none, 0);
}

}  // namespace

int main() {
    what_is_recorded();
    what_a_call_copies();
    copies_of_graphs_have_their_callers();
    outside();
    prefetches();
    arrays();
    graphs_are_followed();
    return test::summary("copy_events");
}
