// A program on two GPUs, under the whole collector. It prints what it was answered, and the state in which each of its calls left it: that
// is the same whatever of the collector's own calls fails. On stderr is what the collector says.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "ahead.h"
#include "calls.h"
#include "soak.h"

namespace {

void copies(CUdeviceptr here, CUdeviceptr there, CUstream stream) {
    const auto nothing = [](const auto&) { return CUDA_SUCCESS; };
    call(API_CUDA_cuMemcpyPeerAsync, "cuMemcpyPeerAsync",
         cuMemcpyPeerAsync_params{there, context_of_gpu(1), here, context_of_gpu(0), 1000, stream}, nothing);
    call(API_CUDA_cuMemcpyDtoD_v2, "cuMemcpyDtoD_v2", cuMemcpyDtoD_v2_params{there, here, 500}, nothing);
    auto graph = reinterpret_cast<CUgraphExec>(0xa00);
    const CUgraph made = graph_of_a_graph(graph_of_one_copy(there, here, 250));
    call(API_CUDA_cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", cuGraphInstantiateWithFlags_params{&graph, made, 0}, nothing);
    call(API_CUDA_cuGraphLaunch, "cuGraphLaunch", cuGraphLaunch_params{graph, stream}, nothing);
}

// Memory that the program maps itself, and hands on.
void mappings() {
    const CUmemAllocationProp properties = memory_of(1);
    const CUmemAccessDesc access = access_by(0);
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr place = 0;
    CALL(cuMemCreate, ({&handle, kBytes, &properties, 0}), return cuMemCreate(p.handle, p.size, p.prop, p.flags));
    CALL(cuMemAddressReserve, ({&place, kBytes, 0, 0, 0}), return cuMemAddressReserve(p.ptr, p.size, p.alignment, p.addr, p.flags));
    CALL(cuMemMap, ({place, kBytes, 0, handle, 0}), return cuMemMap(p.ptr, p.size, p.offset, p.handle, p.flags));
    CALL(cuMemSetAccess, ({place, kBytes, &access, 1}), return cuMemSetAccess(p.ptr, p.size, p.desc, p.count));
    launch(kernel(0), CU_STREAM_LEGACY, place, 7);
    CALL(cuMemUnmap, ({place, kBytes}), return cuMemUnmap(p.ptr, p.size));
    CALL(cuMemRelease, ({handle}), return cuMemRelease(p.handle));
}

// Memory of which the collector has to ask the driver: it did not see how that was made.
void unknown_memory(CUdeviceptr there, CUstream stream) {
    CUdeviceptr unseen = 0;
    {
        const ProgramCall own;
        cuMemAlloc_v2(&unseen, kBytes);
    }
    CALL(cuMemcpyDtoD_v2, ({there, unseen, 125}), return CUDA_SUCCESS);
    CALL(cuMemPrefetchAsync, ({unseen, kBytes, 1, stream}), return CUDA_SUCCESS);
    CUdeviceptr opened = unseen;
    CALL(cuIpcOpenMemHandle_v2, ({&opened, {}, 0}), return CUDA_SUCCESS);
    CUdeviceptr pooled = 0;
    const auto pool = reinterpret_cast<CUmemoryPool>(0xd00);
    CALL(cuMemAllocFromPoolAsync, ({&pooled, kBytes, pool, stream}), return cuMemAlloc_v2(p.dptr, p.bytesize));
    CALL(cuMemFreeAsync, ({pooled, stream}), return cuMemFree_v2(p.dptr));
}

// A copy whose size is in elements of an array, for which the driver has to be asked.
void copy_of_an_array(CUdeviceptr there, CUstream stream) {
    auto array = reinterpret_cast<CUarray>(0xe00);
    const CUDA_ARRAY_DESCRIPTOR shape{16, 1, CU_AD_FORMAT_FLOAT, 1};
    CALL(cuArrayCreate_v2, ({&array, &shape}), return CUDA_SUCCESS);
    CUDA_MEMCPY3D_BATCH_OP copy{};
    copy.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    copy.src.op.array.array = array;
    copy.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    copy.dst.op.ptr.ptr = there;
    copy.extent = {16, 1, 1};
    CALL(cuMemcpy3DBatchAsync_v2, ({1, &copy, 0, stream}), return CUDA_SUCCESS);
    CALL(cuArrayDestroy, ({array}), return CUDA_SUCCESS);
}

// A kernel whose code changes from launch to launch, as its parameters do: to that with the call of the first store alone, while a launch
// with both is still under way, and to the original.
void launches_that_differ(CUdeviceptr here, CUdeviceptr there, CUstream stream) {
    launch_two_stores(stream, there, here, 200);
    hold(stream);
    launch_two_stores(stream, there, there, 300);
    launch_two_stores(stream, there, here, 400);
    let_go(stream);
    launch_two_stores(stream, here, here, 500);
    launch_two_stores(stream, here, there, 600);
}

// A kernel that is loaded into the place of another one, of a module and of a library. Of each that was launched the driver is asked
// whether it goes with them.
void launches_of_reloaded_code(CUdeviceptr there, CUstream stream) {
    launch(of_library(kernel(0)), stream, there, 5);
    CALL(cuModuleUnload, ({module_of(kTwoStores)}), unload(p.hmod); return CUDA_SUCCESS);
    launch_two_stores(stream, there, there, 700);
    CALL(cuLibraryUnload, ({reinterpret_cast<CUlibrary>(0xf00)}), unload(module_of(kTwoStores)); return CUDA_SUCCESS);
    launch_two_stores(stream, there, there, 800);
}

// A library's kernel, of which each GPU has a function of its own: its code is read once.
void launches_on_both(CUdeviceptr here, CUdeviceptr there) {
    CALL(cuLibraryUnload, ({reinterpret_cast<CUlibrary>(0xf00)}), unload(module_of(kTwoStores)); return CUDA_SUCCESS);
    const int before = modules_read;
    CUfunction functions[kGpus] = {kTwoStores, in_graph(kTwoStores)};
    for (int gpu = 0; gpu < kGpus; ++gpu) {
        switch_to(gpu);
        CALL(cuKernelGetFunction, ({&functions[gpu], reinterpret_cast<CUkernel>(of_library(kTwoStores))}), return CUDA_SUCCESS);
        const CUdeviceptr own = gpu == 0 ? here : there;
        launch_two_stores(CU_STREAM_LEGACY, own, own, 1, functions[gpu]);
    }
    switch_to(0);
    std::fprintf(stderr, "modules: %d\n", modules_read - before);
}

// A kernel that can call two functions, and calls the second.
void launch_by_table(CUdeviceptr there, CUstream stream) {
    const CUdeviceptr table = allocate(kInTable * sizeof(uint64_t));
    for (int i = 0; i < kInTable; ++i)
        reinterpret_cast<uint64_t*>(table)[i] = nvbit_get_func_addr(context_of_gpu(0), kernel(kFirstInTable + i));
    set_global(module_of(kByTable), table, kInTable * sizeof(uint64_t));
    constexpr size_t kFirstBatch = 32;
    constexpr uint32_t kFunctionShift = 17;
    unsigned char argument[48] = {};
    const uint32_t flags = 1u << kFunctionShift;
    std::memcpy(argument + kFirstBatch, &flags, sizeof flags);
    void* arguments[] = {argument};
    launch_with(arguments, kByTable, stream, {there}, 2000);
    CALL(cuMemFree_v2, ({table}), return cuMemFree_v2(p.dptr));
}

// Nearly as many launches as a context has slots for where moments are told, or banks of counters, and they end only when all of them have
// been made. So the first of the next round find hardly a slot that is free, and only launches that have ended.
void flood(uint64_t warps) {
    constexpr int kLaunches = 4090;
    quiet = true;
    switch_to(1);
    const CUdeviceptr there = allocate(kBytes);
    switch_to(0);
    const CUstream streams[] = {new_stream(CU_STREAM_DEFAULT), new_stream(CU_STREAM_DEFAULT)};
    for (int round = 0; round < 4; ++round) {
        const CUstream stream = streams[round % 2];
        hold(stream);
        for (int i = 0; i < kLaunches; ++i) launch(kernel(0), stream, there, warps);
        let_go(stream);
    }
    quiet = false;
}

// A kernel of a library, of which a graph's node has to be asked for the function.
void node_of_a_library() {
    CUDA_KERNEL_NODE_PARAMS params{};
    params.kern = reinterpret_cast<CUkernel>(kernel(1));
    params.ctx = context_of_gpu(0);
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    CUgraphNode node = nullptr;
    CALL(cuGraphAddKernelNode_v2, ({&node, nullptr, nullptr, 0, &params}), return CUDA_SUCCESS);
}

void limit_addresses(uint64_t room) {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + room;
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}

}  // namespace

int main() {
    // Without /proc, /tmp and all other files of the system, as in a bare container.
    if (const char* const root = std::getenv("ROOT"))
        if (chroot(root) != 0 || chdir("/") != 0) return 3;
    // In MiB, beyond those that the sanitizers have taken.
    if (const char* const room = std::getenv("ADDRESS_ROOM")) limit_addresses(std::strtoull(room, nullptr, 10) << 20);
    heard = nvbit_starts();
    if (heard) nvbit_at_init();
    {
        const ProgramCall own;
        cuCtxPushCurrent_v2(context_of_gpu(0));
    }
    for (int gpu = 0; gpu < kGpus; ++gpu) {
        tell([gpu] {
            nvbit_may_end("context");
            nvbit_at_ctx_init(context_of_gpu(gpu));
        });
    }

    const CUdeviceptr here = allocate(kBytes);
    switch_to(1);
    const CUdeviceptr there = allocate(kBytes);
    switch_to(0);
    CALL(cuCtxEnablePeerAccess, ({context_of_gpu(1), 0}), return CUDA_SUCCESS);
    void* host = nullptr;
    CALL(cuMemHostAlloc, ({&host, kBytes, 0}), return cuMemHostAlloc(p.pp, p.bytesize, p.Flags));
    const CUstream stream = new_stream(CU_STREAM_DEFAULT);
    const CUstream beside = new_stream(CU_STREAM_NON_BLOCKING);
    const CUstream capturing = new_stream(CU_STREAM_DEFAULT);

    for (int gpu = 0; gpu < kGpus; ++gpu) tell([gpu] { nvbit_tool_init(context_of_gpu(gpu)); });
    std::printf("after NVBit's start: %s\n", state_of_thread().c_str());

    for (const CUstream one : {CU_STREAM_LEGACY, stream, beside})
        for (int i = 0; i < 3; ++i) launch(kernel(0), one, there, 100);
    launch(kernel(0), stream, here, 50);
    launch(kernel(0), stream, there, 1000, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    launch(kernel(2), stream, there, 10);
    switch_to(1);
    launch(kernel(0), CU_STREAM_LEGACY, here, 20);
    switch_to(0);

    begin_capture(capturing);
    // By a thread, which its stack shows: the program's own functions count as the collector's here, and are no frames.
    std::thread([capturing, there] {
        {
            const ProgramCall own;
            cuCtxPushCurrent_v2(context_of_gpu(0));
        }
        capture(kernel(1), capturing, there);
    }).join();
    const CUgraph captured = end_capture(capturing);
    auto graph = reinterpret_cast<CUgraphExec>(0xb00);
    CALL(cuGraphInstantiateWithFlags, ({&graph, captured, 0}), return CUDA_SUCCESS);
    for (const uint64_t warps : {30, 40, 50}) {
        // Launches of a graph run one after the other in whichever streams they are.
        CALL(cuGraphLaunch, ({graph, warps == 50 ? beside : stream}), {
            const auto run = [&] { run_kernel(context_of_gpu(0), in_graph(kernel(1)), {there}, warps, 1); };
            // In a branch of the graph the kernel may run before NVBit tells of it.
            if (warps == 40) run();
            tell([&] { nvbit_at_graph_node_launch(context_of_gpu(0), in_graph(kernel(1)), warps == 40 ? nullptr : p.hStream, 1); });
            if (warps != 40) run();
            ++launches;
            return CUDA_SUCCESS;
        });
    }

    copies(here, there, stream);
    mappings();
    unknown_memory(there, stream);
    copy_of_an_array(there, stream);
    launches_that_differ(here, there, stream);
    launches_of_reloaded_code(there, stream);
    launches_on_both(here, there);
    launch_by_table(there, stream);
    node_of_a_library();
    CUdeviceptr pooled = 0;
    CALL(cuMemAllocAsync, ({&pooled, kBytes, stream}), return cuMemAlloc_v2(p.dptr, p.bytesize));
    CALL(cuMemFreeAsync, ({pooled, stream}), return cuMemFree_v2(p.dptr));
    CALL(cuMemFreeHost, ({host}), return cuMemFreeHost(p.p));
    CALL(cuMemFree_v2, ({there}), return cuMemFree_v2(p.dptr));
    CALL(cuMemFree_v2, ({there}), return cuMemFree_v2(p.dptr));

    if (const char* const warps = std::getenv("FLOOD")) flood(std::strtoull(warps, nullptr, 10));
    if (const char* const end = std::getenv("AHEAD")) run_ahead(std::strcmp(end, "never") != 0);
    if (const char* const rounds = std::getenv("SOAK")) soak(std::atol(rounds), here, stream);
    if (const char* const rounds = std::getenv("COME_AND_GO"))
        come_and_go(std::atol(rounds), std::atol(std::getenv("TOGETHER")), here, stream);

    if (const char* const by = std::getenv("END_CONTEXTS")) {
        const auto end = [] {
            for (int gpu = 0; gpu < kGpus; ++gpu) tell([gpu] { nvbit_at_ctx_term(context_of_gpu(gpu)); });
        };
        if (std::strcmp(by, "thread") == 0)
            std::thread(end).join();
        else
            end();
        std::printf("after the contexts' end: %s\n", state_of_thread().c_str());
        // The collector has not heard of it, and must have noticed before: it looks again after a tenth of a second at the latest.
        if (snoopie::nvbit_has_ended()) {
            end_memory_of_collector();
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
        }
    }
    std::fprintf(stderr, "taken: %lu\n", static_cast<unsigned long>(bytes_taken_by_collector()));
    if (const char* const way = std::getenv("LEAVE")) {
        std::fflush(stdout);
        if (std::strcmp(way, "exit in a call") == 0) CALL(cuMemFree_v2, ({here}), std::exit(7); return CUDA_SUCCESS);
        // As in a function that the driver calls when a stream gets there.
        if (std::strcmp(way, "exit in a thread") == 0)
            CALL(cuMemFree_v2, ({here}), std::thread([] { std::exit(7); }).join(); return CUDA_SUCCESS);
        if (std::strcmp(way, "exec") == 0) execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
        _exit(7);
    }
    return 7;
}
