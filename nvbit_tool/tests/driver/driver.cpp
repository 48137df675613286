#include "driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels.h"

namespace {

// --- Faults ---

struct Fault {
    std::string call;
    long number = 0;
    CUresult error = CUDA_SUCCESS;
    bool on = false;
    long calls = 0;  // so far
};

std::vector<Fault>& faults() {
    static auto& read = *[] {
        auto* faults = new std::vector<Fault>;
        const char* const text = std::getenv("SNOOPIE_FAULT");
        std::istringstream list(text ? text : "");
        for (std::string one; std::getline(list, one, ',');) {
            char call[128] = "";
            long number = 0;
            int error = 0;
            char on[4] = "";
            if (std::sscanf(one.c_str(), "%127[^:]:%ld:%d:%3s", call, &number, &error, on) < 3) continue;
            faults->push_back({call, number, static_cast<CUresult>(error), std::strcmp(on, "on") == 0});
        }
        return faults;
    }();
    return read;
}

thread_local int program_calls = 0;

// --- What the driver knows ---

constexpr size_t kPage = 2 << 20;

struct Memory {
    size_t bytes = 0;
    int gpu = -1;  // -1: the host
    bool of_collector = false;
    bool reserved_only = false;
};

struct Stream {
    CUcontext context = nullptr;
    unsigned flags = 0;
    bool capturing = false;
    CUgraphNode captured = nullptr;
    bool held = false;
};

struct Copy {
    CUDA_MEMCPY3D params{};
};

// Never destroyed: destructors of the program's ask as well.
std::mutex& lock_of_all() {
    static auto& mutex = *new std::mutex;
    return mutex;
}
std::map<uint64_t, Memory>& memory() {
    static auto& all = *new std::map<uint64_t, Memory>;
    return all;
}
std::map<uint64_t, Memory>& physical() {
    static auto& all = *new std::map<uint64_t, Memory>;
    return all;
}
std::map<CUstream, Stream>& streams() {
    static auto& all = *new std::map<CUstream, Stream>;
    return all;
}
std::map<CUgraph, std::vector<CUgraphNode>>& graphs() {
    static auto& all = *new std::map<CUgraph, std::vector<CUgraphNode>>;
    return all;
}
// What copies the nodes are that are no kernels.
std::map<CUgraphNode, const Copy*>& copies() {
    static auto& all = *new std::map<CUgraphNode, const Copy*>;
    return all;
}
// And what graphs those that are graphs.
std::map<CUgraphNode, CUgraph>& children() {
    static auto& all = *new std::map<CUgraphNode, CUgraph>;
    return all;
}
std::atomic<size_t> events_made{0};
// Where events were recorded last.
std::map<CUevent, CUstream>& events() {
    static auto& all = *new std::map<CUevent, CUstream>;
    return all;
}
std::map<CUmodule, std::pair<CUdeviceptr, size_t>>& globals() {
    static auto& all = *new std::map<CUmodule, std::pair<CUdeviceptr, size_t>>;
    return all;
}

thread_local CUcontext contexts[16];
thread_local int depth = 0;
thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
std::atomic<uint64_t> handles{0x1000};

CUcontext current() { return depth > 0 ? contexts[depth - 1] : nullptr; }
int current_gpu() { return static_cast<int>(reinterpret_cast<uint64_t>(current()) - 0x10); }

template <class Handle>
Handle new_handle() {
    return reinterpret_cast<Handle>(handles += 8);
}

// `alignment`: a power of two, at least that of a page.
uint64_t map_memory(size_t bytes, size_t alignment, int protection) {
    const size_t whole = bytes + alignment;
    void* const place = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) std::abort();
    const uint64_t begin = (reinterpret_cast<uint64_t>(place) + alignment - 1) / alignment * alignment;
    if (mprotect(reinterpret_cast<void*>(begin), bytes, protection) != 0) std::abort();
    return begin;
}

void take(uint64_t address, size_t bytes, int gpu, bool reserved_only = false) {
    const std::lock_guard lock(lock_of_all());
    memory()[address] = {bytes, gpu, program_calls == 0, reserved_only};
}

bool give_back(uint64_t address) {
    const std::lock_guard lock(lock_of_all());
    const auto found = memory().find(address);
    if (found == memory().end()) return false;
    // The address stays taken: what is used after it was freed must be seen.
    if (mprotect(reinterpret_cast<void*>(address), found->second.bytes, PROT_NONE) != 0) std::abort();
    memory().erase(found);
    return true;
}

// The memory that an address is in; null if it is in none.
const Memory* find(uint64_t address, uint64_t* begin = nullptr) {
    auto found = memory().upper_bound(address);
    if (found == memory().begin()) return nullptr;
    --found;
    if (address >= found->first + found->second.bytes || found->second.reserved_only) return nullptr;
    if (begin) *begin = found->first;
    return &found->second;
}

// A copy or memset: within one piece of memory, in a stream of the current context.
CUresult check(uint64_t address, size_t bytes, CUstream stream) {
    const std::lock_guard lock(lock_of_all());
    uint64_t begin = 0;
    const Memory* const there = find(address, &begin);
    if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!there || address + bytes > begin + there->bytes) return CUDA_ERROR_INVALID_VALUE;
    // Each context has those.
    if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return CUDA_SUCCESS;
    const auto found = streams().find(stream);
    if (found == streams().end() || found->second.context != current()) return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}

CUresult attribute_of(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    const std::lock_guard lock(lock_of_all());
    uint64_t begin = 0;
    const Memory* const there = find(address, &begin);
    if (!there) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned*>(value) = there->gpu < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<unsigned*>(value) = 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(value) = there->gpu;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<uint64_t*>(value) = begin;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

// Whether what was given to the event's stream before it has not run yet.
bool is_held(CUevent event) {
    const std::lock_guard lock(lock_of_all());
    const auto stream = streams().find(events()[event]);
    return stream != streams().end() && stream->second.held;
}

}  // namespace

ProgramCall::ProgramCall() { ++program_calls; }
ProgramCall::~ProgramCall() { --program_calls; }

CUresult fault_in(const char* call) {
    if (program_calls > 0) return CUDA_SUCCESS;
    const std::lock_guard lock(lock_of_all());
    for (Fault& fault : faults()) {
        if (fault.call != call && fault.call != "any") continue;
        const long number = ++fault.calls;
        if (number != fault.number && !(fault.on && number > fault.number)) continue;
        const char* const said = std::getenv("SNOOPIE_FAULT_SAID");
        if (said && &fault == &faults().back()) close(open(said, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
        return fault.error;
    }
    return CUDA_SUCCESS;
}

std::string state_of_thread() {
    std::string text;
    for (int i = 0; i < depth; ++i) text += std::to_string(reinterpret_cast<uint64_t>(contexts[i]) - 0x10) + " ";
    return text + "mode " + std::to_string(mode);
}

size_t events_of_collector() { return events_made; }
uint64_t bytes_taken_by_collector() {
    const std::lock_guard lock(lock_of_all());
    uint64_t bytes = 0;
    for (const auto& [address, one] : memory()) bytes += one.of_collector && !one.reserved_only ? one.bytes : 0;
    for (const auto& [handle, one] : physical()) bytes += one.of_collector ? one.bytes : 0;
    return bytes;
}

void end_memory_of_collector() {
    const std::lock_guard lock(lock_of_all());
    for (auto& [address, one] : memory())
        if (one.of_collector) munmap(reinterpret_cast<void*>(address), one.bytes);
}

CUstream new_stream(unsigned flags) {
    const auto stream = new_handle<CUstream>();
    const std::lock_guard lock(lock_of_all());
    streams()[stream] = {current(), flags};
    return stream;
}

void hold(CUstream stream) {
    const std::lock_guard lock(lock_of_all());
    streams().at(stream).held = true;
}

void let_go(CUstream stream) {
    const std::lock_guard lock(lock_of_all());
    streams().at(stream).held = false;
}

void set_global(CUmodule module, CUdeviceptr address, size_t bytes) {
    const std::lock_guard lock(lock_of_all());
    globals()[module] = {address, bytes};
}

void begin_capture(CUstream stream) { streams().at(stream).capturing = true; }

void capture_kernel(CUstream stream) { streams().at(stream).captured = new_handle<CUgraphNode>(); }

CUgraph end_capture(CUstream stream) {
    const auto graph = new_handle<CUgraph>();
    const std::lock_guard lock(lock_of_all());
    graphs()[graph] = {streams().at(stream).captured};
    streams().at(stream).capturing = false;
    return graph;
}

CUgraph graph_of_one_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    auto* const copy = new Copy;
    copy->params.srcMemoryType = copy->params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy->params.srcDevice = from;
    copy->params.dstDevice = to;
    copy->params.WidthInBytes = bytes;
    copy->params.Height = copy->params.Depth = 1;
    const auto graph = new_handle<CUgraph>();
    const auto node = new_handle<CUgraphNode>();
    const std::lock_guard lock(lock_of_all());
    copies()[node] = copy;
    graphs()[graph] = {node};
    return graph;
}

CUgraph graph_of_a_graph(CUgraph child) {
    const auto graph = new_handle<CUgraph>();
    const auto node = new_handle<CUgraphNode>();
    const std::lock_guard lock(lock_of_all());
    children()[node] = child;
    graphs()[graph] = {node};
    return graph;
}

// --- The driver's functions, as far as the collector calls them ---

#define DRIVER(NAME, PARAMETERS, ...)                     \
    extern "C" CUresult NAME PARAMETERS {                 \
        if (const CUresult e = fault_in(#NAME)) return e; \
        __VA_ARGS__;                                      \
        return CUDA_SUCCESS;                              \
    }

DRIVER(cuDriverGetVersion, (int* version), *version = 13000)
DRIVER(cuDeviceGetCount, (int* count), *count = kGpus)
DRIVER(cuDeviceGet, (CUdevice * device, int ordinal), *device = ordinal)
DRIVER(cuDeviceGetName, (char* name, int length, CUdevice), std::snprintf(name, static_cast<size_t>(length), "GPU of the host"))
DRIVER(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), std::memset(uuid, 0x40 + device, sizeof *uuid))
DRIVER(cuDeviceGetPCIBusId, (char* text, int length, CUdevice device),
       std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", device + 1))
DRIVER(cuDeviceTotalMem_v2, (size_t* bytes, CUdevice), *bytes = size_t{80} << 30)
DRIVER(cuDeviceGetP2PAttribute, (int* value, CUdevice_P2PAttribute, CUdevice, CUdevice), *value = 1)
DRIVER(
    cuDeviceGetAttribute, (int* value, CUdevice_attribute attribute, CUdevice), switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = 9;
            break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = 4;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
            *value = 2048;
            break;
        default:
            *value = 0;
    })
DRIVER(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device),
       *pool = reinterpret_cast<CUmemoryPool>(0x700 + 8 * static_cast<uint64_t>(device)))
DRIVER(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice device),
       *pool = reinterpret_cast<CUmemoryPool>(0x700 + 8 * static_cast<uint64_t>(device)))
DRIVER(cuMemPoolGetAttribute, (CUmemoryPool, CUmemPool_attribute, void* value), *static_cast<uint64_t*>(value) = 4096)

DRIVER(cuCtxPushCurrent_v2, (CUcontext context), contexts[depth++] = context)
DRIVER(cuCtxPopCurrent_v2, (CUcontext * context), if (depth == 0) return CUDA_ERROR_INVALID_CONTEXT; *context = contexts[--depth])
DRIVER(cuCtxGetCurrent, (CUcontext * context), *context = current())
DRIVER(cuCtxGetDevice, (CUdevice * device), if (!current()) return CUDA_ERROR_INVALID_CONTEXT; *device = current_gpu())
DRIVER(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * exchanged), std::swap(*exchanged, mode))

DRIVER(cuStreamCreate, (CUstream * stream, unsigned flags), if (!current()) return CUDA_ERROR_INVALID_CONTEXT; *stream = new_stream(flags))
DRIVER(cuStreamDestroy_v2, (CUstream stream), const std::lock_guard lock(lock_of_all());
       if (!streams().erase(stream)) return CUDA_ERROR_INVALID_HANDLE)
DRIVER(cuStreamQuery, (CUstream))
DRIVER(cuStreamSynchronize, (CUstream))
DRIVER(cuStreamWaitEvent, (CUstream, CUevent, unsigned))
DRIVER(cuStreamGetId, (CUstream stream, unsigned long long* id), *id = reinterpret_cast<uint64_t>(stream))
DRIVER(cuStreamGetFlags, (CUstream stream, unsigned* flags), const std::lock_guard lock(lock_of_all());
       *flags = streams().count(stream) ? streams()[stream].flags : 0)
DRIVER(cuStreamGetCtx, (CUstream stream, CUcontext* context), const std::lock_guard lock(lock_of_all());
       *context = streams().count(stream) ? streams()[stream].context : current())
DRIVER(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus* status), const std::lock_guard lock(lock_of_all());
       const bool capturing = streams().count(stream) && streams()[stream].capturing;
       *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE)
DRIVER(cuStreamGetCaptureInfo_v2,
       (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph*, const CUgraphNode** last, size_t* count),
       const std::lock_guard lock(lock_of_all());
       const Stream& found = streams().at(stream); *last = &found.captured; *count = found.captured ? 1 : 0;
       *status = found.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE)

DRIVER(cuEventCreate, (CUevent * event, unsigned), if (!current()) return CUDA_ERROR_INVALID_CONTEXT; *event = new_handle<CUevent>();
       ++events_made)
DRIVER(cuEventRecord, (CUevent event, CUstream stream), if (!event) return CUDA_ERROR_INVALID_HANDLE;
       const std::lock_guard lock(lock_of_all()); events()[event] = stream)
DRIVER(cuEventQuery, (CUevent event), if (!event) return CUDA_ERROR_INVALID_HANDLE; if (is_held(event)) return CUDA_ERROR_NOT_READY)
DRIVER(cuEventElapsedTime, (float* milliseconds, CUevent from, CUevent to), if (is_held(from) || is_held(to)) return CUDA_ERROR_NOT_READY;
       *milliseconds = static_cast<float>(reinterpret_cast<int64_t>(to) - reinterpret_cast<int64_t>(from)) / 1000)

DRIVER(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes), if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
       *address = map_memory(bytes, kPage, PROT_READ | PROT_WRITE); take(*address, bytes, current_gpu()))
DRIVER(cuMemFree_v2, (CUdeviceptr address), if (!give_back(address)) return CUDA_ERROR_INVALID_VALUE)
DRIVER(cuMemHostAlloc, (void** host, size_t bytes, unsigned), if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
       const uint64_t place = map_memory(bytes, kPage, PROT_READ | PROT_WRITE); take(place, bytes, -1);
       *host = reinterpret_cast<void*>(place))
DRIVER(cuMemFreeHost, (void* host), if (!give_back(reinterpret_cast<uint64_t>(host))) return CUDA_ERROR_INVALID_VALUE)
DRIVER(cuMemHostGetDevicePointer_v2, (CUdeviceptr * address, void* host, unsigned), *address = reinterpret_cast<CUdeviceptr>(host))
DRIVER(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t* bytes, CUdeviceptr address), const std::lock_guard lock(lock_of_all());
       uint64_t begin = 0; const Memory* const there = find(address, &begin); if (!there) return CUDA_ERROR_NOT_FOUND; *base = begin;
       *bytes = there->bytes)
DRIVER(cuMemGetAllocationGranularity, (size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags), *bytes = kPage)
DRIVER(cuMemCreate, (CUmemGenericAllocationHandle * handle, size_t bytes, const CUmemAllocationProp* properties, unsigned long long),
       *handle = handles += 8;
       const std::lock_guard lock(lock_of_all()); physical()[*handle] = {bytes, properties->location.id, program_calls == 0, false})
DRIVER(cuMemRelease, (CUmemGenericAllocationHandle handle), const std::lock_guard lock(lock_of_all());
       if (!physical().erase(handle)) return CUDA_ERROR_INVALID_VALUE)
DRIVER(cuMemGetAllocationPropertiesFromHandle, (CUmemAllocationProp * properties, CUmemGenericAllocationHandle handle),
       const std::lock_guard lock(lock_of_all());
       if (!physical().count(handle)) return CUDA_ERROR_INVALID_VALUE; *properties = {};
       properties->location = {CU_MEM_LOCATION_TYPE_DEVICE, physical()[handle].gpu})
DRIVER(cuMemAddressReserve, (CUdeviceptr * address, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long),
       *address = map_memory(bytes, alignment ? alignment : kPage, PROT_NONE);
       take(*address, bytes, -1, true))
DRIVER(cuMemAddressFree, (CUdeviceptr address, size_t), if (!give_back(address)) return CUDA_ERROR_INVALID_VALUE)
DRIVER(cuMemMap, (CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle, unsigned long long),
       const std::lock_guard lock(lock_of_all());
       if (!physical().count(handle) || !memory().count(address)) return CUDA_ERROR_INVALID_VALUE;
       memory()[address] = {bytes, physical()[handle].gpu, program_calls == 0, false})
DRIVER(cuMemSetAccess, (CUdeviceptr address, size_t bytes, const CUmemAccessDesc*, size_t),
       if (mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE) != 0) return CUDA_ERROR_INVALID_VALUE)
DRIVER(cuMemUnmap, (CUdeviceptr address, size_t), const std::lock_guard lock(lock_of_all()); const auto found = memory().find(address);
       if (found == memory().end() || found->second.reserved_only) return CUDA_ERROR_INVALID_VALUE; found->second.reserved_only = true;
       if (mprotect(reinterpret_cast<void*>(address), found->second.bytes, PROT_NONE) != 0) std::abort())
DRIVER(cuMemRangeGetAttribute, (void* value, size_t, CUmem_range_attribute, CUdeviceptr, size_t), *static_cast<int*>(value) = 1)
DRIVER(cuPointerGetAttribute, (void* value, CUpointer_attribute attribute, CUdeviceptr address),
       return attribute_of(value, attribute, address))
DRIVER(cuPointerGetAttributes, (unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address),
       for (unsigned i = 0; i < count; ++i) attribute_of(values[i], attributes[i], address))
DRIVER(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
       if (const CUresult wrong = check(from, bytes, stream)) return wrong;
       std::memcpy(to, reinterpret_cast<const void*>(from), bytes))
DRIVER(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
       if (const CUresult wrong = check(to, bytes, stream)) return wrong;
       std::memcpy(reinterpret_cast<void*>(to), from, bytes))
DRIVER(cuStreamWriteValue64_v2, (CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned),
       if (const CUresult wrong = check(to, sizeof value, stream)) return wrong;
       std::memcpy(reinterpret_cast<void*>(to), &value, sizeof value))
DRIVER(
    cuStreamBatchMemOp_v2, (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned),
    for (unsigned i = 0; i < count; ++i) {
        const auto& written = operations[i].writeValue;
        if (const CUresult wrong = check(written.address, sizeof written.value64, stream)) return wrong;
        std::memcpy(reinterpret_cast<void*>(written.address), &written.value64, sizeof written.value64);
    })
// Memory is new where the collector fills it, and all of it is 0.
DRIVER(cuMemsetD8Async, (CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream),
       if (const CUresult wrong = check(to, bytes, stream)) return wrong;
       if (byte) std::memset(reinterpret_cast<void*>(to), byte, bytes))

DRIVER(cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR * descriptor, CUarray), *descriptor = {};
       descriptor->Format = CU_AD_FORMAT_FLOAT; descriptor->NumChannels = 1)
DRIVER(cuFuncGetModule, (CUmodule * module, CUfunction function), if (function == of_library(function)) return CUDA_ERROR_INVALID_HANDLE;
       *module = module_of(function))
DRIVER(cuLibraryGetModule, (CUmodule * module, CUlibrary), *module = module_of(kTwoStores))
DRIVER(cuModuleGetGlobal_v2, (CUdeviceptr * address, size_t* bytes, CUmodule module, const char*),
       const std::lock_guard lock(lock_of_all());
       const auto found = globals().find(module); if (found == globals().end()) return CUDA_ERROR_NOT_FOUND;
       std::tie(*address, *bytes) = found->second)
DRIVER(cuKernelGetFunction, (CUfunction * function, CUkernel kernel), *function = of_launch(reinterpret_cast<CUfunction>(kernel)))
DRIVER(cuGetErrorName, (CUresult, const char** name), *name = "CUDA_ERROR")
DRIVER(cuGraphGetNodes, (CUgraph graph, CUgraphNode* nodes, size_t* count), const std::lock_guard lock(lock_of_all());
       const auto& found = graphs()[graph]; for (size_t i = 0; nodes && i < found.size() && i < *count; ++i) nodes[i] = found[i];
       *count = found.size())
DRIVER(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType* type), const std::lock_guard lock(lock_of_all());
       *type = copies().count(node)     ? CU_GRAPH_NODE_TYPE_MEMCPY
               : children().count(node) ? CU_GRAPH_NODE_TYPE_GRAPH
                                        : CU_GRAPH_NODE_TYPE_KERNEL)
DRIVER(cuGraphMemcpyNodeGetParams, (CUgraphNode node, CUDA_MEMCPY3D* params), const std::lock_guard lock(lock_of_all());
       *params = copies().at(node)->params)
DRIVER(cuGraphChildGraphNodeGetGraph, (CUgraphNode node, CUgraph* child), const std::lock_guard lock(lock_of_all());
       *child = children().at(node))
