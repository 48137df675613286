#include "soak.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "calls.h"
#include "trace/schema.h"
#include "trace_file.h"

// Of the address sanitizer, where it is linked.
extern "C" size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace {

// The rows of a table that are in a file which grows.
class OnDisk {
  public:
    OnDisk(const char* path, snoopie::Table table) : fd_(open(path, O_RDONLY | O_CLOEXEC)), table_(static_cast<uint32_t>(table)) {}
    ~OnDisk() { close(fd_); }
    OnDisk(const OnDisk&) = delete;
    OnDisk& operator=(const OnDisk&) = delete;

    long rows() {
        std::string entry(56, '\0');
        const off_t size = lseek(fd_, 0, SEEK_END);
        while (pread(fd_, entry.data(), entry.size(), at_) == static_cast<ssize_t>(entry.size())) {
            const off_t end = at_ + 56 + test::get<off_t>(entry, 32);
            if (end > size) break;
            if (test::get<uint32_t>(entry, 16) == table_) rows_ += test::get<uint32_t>(entry, 20);
            at_ = end;
        }
        return rows_;
    }
    long bytes() const { return at_; }

  private:
    const int fd_;
    const uint32_t table_;
    off_t at_ = 0;
    long rows_ = 0;
};

size_t heap() {
    if (__sanitizer_get_current_allocated_bytes) return __sanitizer_get_current_allocated_bytes();
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

size_t resident() {
    long pages = 0;
    if (FILE* const file = std::fopen("/proc/self/statm", "re")) {
        if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return static_cast<size_t>(pages * sysconf(_SC_PAGESIZE));
}

int descriptors() {
    int count = 0;
    DIR* const folder = opendir("/proc/self/fd");
    while (const dirent* const entry = readdir(folder)) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

// Memory whose addresses come again, as a driver's do.
struct Pool {
    Pool() {
        const ProgramCall own;
        for (CUdeviceptr* const one : {&device, &pooled}) cuMemAlloc_v2(one, kBytes);
        cuMemHostAlloc(&host, kBytes, 0);
        cuMemAddressReserve(&place, kBytes, 0, 0, 0);
    }
    CUdeviceptr device = 0;
    CUdeviceptr pooled = 0;
    CUdeviceptr place = 0;
    void* host = nullptr;
};

void allocations(const Pool& pool, CUstream stream) {
    CUdeviceptr address = 0;
    void* host = nullptr;
    CALL(cuMemAlloc_v2, ({&address, kBytes}), *p.dptr = pool.device; return CUDA_SUCCESS);
    CALL(cuMemHostAlloc, ({&host, kBytes, 0}), *p.pp = pool.host; return CUDA_SUCCESS);
    launch(kernel(0), stream, reinterpret_cast<CUdeviceptr>(host), 1);
    CALL(cuMemFreeHost, ({host}), return CUDA_SUCCESS);
    CALL(cuMemFree_v2, ({address}), return CUDA_SUCCESS);
    CALL(cuMemAllocAsync, ({&address, kBytes, stream}), *p.dptr = pool.pooled; return CUDA_SUCCESS);
    CALL(cuMemFreeAsync, ({address, stream}), return CUDA_SUCCESS);
    CALL(cuMemFree_v2, ({address}), return CUDA_ERROR_INVALID_VALUE);
}

void mapping(const Pool& pool, CUstream stream) {
    const CUmemAllocationProp properties = memory_of(1);
    const CUmemAccessDesc access = access_by(0);
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr place = 0;
    CALL(cuMemCreate, ({&handle, kBytes, &properties, 0}), return cuMemCreate(p.handle, p.size, p.prop, p.flags));
    CALL(cuMemAddressReserve, ({&place, kBytes, 0, 0, 0}), *p.ptr = pool.place; return CUDA_SUCCESS);
    CALL(cuMemMap, ({place, kBytes, 0, handle, 0}), return cuMemMap(p.ptr, p.size, p.offset, p.handle, p.flags));
    CALL(cuMemSetAccess, ({place, kBytes, &access, 1}), return CUDA_SUCCESS);
    launch(kernel(0), stream, place, 1);
    CALL(cuMemUnmap, ({place, kBytes}), return cuMemUnmap(p.ptr, p.size));
    CALL(cuMemAddressFree, ({place, kBytes}), return CUDA_SUCCESS);
    CALL(cuMemRelease, ({handle}), return cuMemRelease(p.handle));
}

void graph(CUgraph made, CUstream stream, CUdeviceptr to, int times) {
    static uint64_t node = 1;
    ++node;
    auto executable = reinterpret_cast<CUgraphExec>(0xc00);
    CALL(cuGraphInstantiateWithFlags, ({&executable, made, 0}), return CUDA_SUCCESS);
    for (int i = 0; i < times; ++i) {
        CALL(cuGraphLaunch, ({executable, stream}), {
            nvbit_at_graph_node_launch(context_of_gpu(0), in_graph(kernel(1)), p.hStream, node);
            run_kernel(context_of_gpu(0), in_graph(kernel(1)), {to}, 1, node);
            ++launches;
            return CUDA_SUCCESS;
        });
    }
    CALL(cuGraphExecDestroy, ({executable}), return CUDA_SUCCESS);
    forget_node(context_of_gpu(0), in_graph(kernel(1)), node);
}

void stream_and_thread(CUdeviceptr to) {
    CUstream stream = nullptr;
    CALL(cuStreamCreate, ({&stream, CU_STREAM_DEFAULT}), *p.phStream = new_stream(p.Flags); return CUDA_SUCCESS);
    std::thread([stream, to] {
        {
            const ProgramCall own;
            cuCtxPushCurrent_v2(context_of_gpu(0));
        }
        launch(kernel(0), stream, to, 1);
    }).join();
    CALL(cuStreamDestroy_v2, ({stream}), return cuStreamDestroy_v2(p.hStream));
}

void one_round(const Pool& pool, CUdeviceptr here, CUdeviceptr there, CUgraph copied, CUstream stream) {
    launch(kernel(0), CU_STREAM_LEGACY, there, 1);
    launch(kernel(0), stream, there, 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    launch_two_stores(stream, there, here, 1);
    launch_two_stores(stream, here, there, 1);
    launch_two_stores(stream, here, here, 1);
    allocations(pool, stream);
    mapping(pool, stream);
    graph(copied, stream, there, 2);
    stream_and_thread(there);
    CALL(cuMemcpyPeerAsync, ({there, context_of_gpu(1), here, context_of_gpu(0), 1000, stream}), return CUDA_SUCCESS);
}

// Until the trace has all launches so far: nothing then waits to be written.
void wait_for(OnDisk* on_disk, long rows) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (on_disk->rows() < rows && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace

void soak(long rounds, CUdeviceptr here, CUstream stream) {
    quiet = true;
    switch_to(1);
    const CUdeviceptr there = allocate(kBytes);
    switch_to(0);
    const Pool pool;
    const CUgraph copied = graph_of_one_copy(there, here, 250);
    OnDisk on_disk(std::getenv("SNOOPIE_OUTPUT"), snoopie::Table::launches);
    for (int quarter = 1; quarter <= 4; ++quarter) {
        for (long round = 0; round < rounds; ++round) one_round(pool, here, there, copied, stream);
        wait_for(&on_disk, launches);
        std::fprintf(stderr, "soak: %ld %zu %zu %d %ld\n", quarter * rounds, heap(), resident(), descriptors(), on_disk.bytes());
    }
    quiet = false;
}

void come_and_go(long rounds, long together, CUdeviceptr here, CUstream stream) {
    quiet = true;
    const CUgraph copied = graph_of_one_copy(here, here, 250);
    OnDisk on_disk(std::getenv("SNOOPIE_OUTPUT"), snoopie::Table::launches);
    for (long round = 1; round <= rounds; ++round) {
        graph(copied, stream, here, 1);
        stream_and_thread(here);
        if (round % together == 0) wait_for(&on_disk, launches);
    }
    std::fprintf(stderr, "events: %zu\n", events_of_collector());
    quiet = false;
}
