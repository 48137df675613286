// What is used of CUPTI's activity interface, declared here: it is stable, and the collector builds where CUPTI is not installed. Of each
// record only the beginning, to which later versions of CUPTI add. tests/times/layout.cpp compares all of it with CUPTI's own headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace snoopie::cupti {

using Result = int;  // 0 = success

enum class Kind : uint32_t { memcpy = 1, memset = 2, driver = 4, concurrent_kernel = 10, memcpy_peer = 22 };

struct Record {
    Kind kind;
};

struct Kernel {
    Kind kind;
    uint8_t cache_config;
    uint8_t shared_memory_config;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start;
    uint64_t end;
    uint64_t completed;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    int32_t grid[3];
    int32_t block[3];
    int32_t static_shared_memory;
    int32_t dynamic_shared_memory;
    uint32_t local_memory[2];
    uint32_t correlation;
    int64_t grid_id;
    const char* name;
    void* reserved;
    uint64_t queued;
    uint64_t submitted;
    uint8_t launch_type;
    uint8_t carveout[2];
    uint8_t padding;
    uint32_t shared_memory_executed;
    uint64_t graph_node;  // 0 = launched by itself
};

// Between the host and a GPU, or within one.
struct Memcpy {
    Kind kind;
    uint8_t copy_kind;
    uint8_t source_kind;
    uint8_t destination_kind;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t correlation;
};

// From one GPU to another.
struct MemcpyPeer {
    Kind kind;
    uint8_t copy_kind;
    uint8_t source_kind;
    uint8_t destination_kind;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t source_device;
    uint32_t source_context;
    uint32_t destination_device;
    uint32_t destination_context;
    uint32_t correlation;
};

struct Memset {
    Kind kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t device;
};

// A call of the driver.
struct Call {
    Kind kind;
    uint32_t callback;
    uint64_t start;
    uint64_t end;
    uint32_t process;
    uint32_t thread;
    uint32_t correlation;
    uint32_t returned;
};

// CUpti_ActivityMemcpyKind; an array counts as the GPU that holds it.
enum class Direction : uint8_t { htod = 1, dtoh, htoa, atoh, atoa, atod, dtoa, dtod, htoh, ptop };
// CUpti_ActivityMemoryKind.
enum class MemoryKind : uint8_t { unknown, pageable, pinned, device, array, managed, device_static, managed_static };

// Calls that launch kernels or graphs, by CUPTI's numbers, which never change. The runtime's launch through these, under the same
// correlation: to record both would cost twice as much.
constexpr uint32_t kDriverLaunches[] = {115, 116, 117, 307, 442, 477, 478, 480, 514, 515, 652, 653};
constexpr uint32_t kProfilerStart = 308, kProfilerStop = 309;

// What a callback is told of a call of the driver.
struct CallData {
    int32_t site;  // 0 = it begins
    const char* function;
    const void* parameters;
    void* result;
    const char* symbol;
    void* context;
    uint32_t context_number;
    uint64_t* own;
    uint32_t correlation;
};
using Callback = void (*)(void* own, int domain, uint32_t callback, const CallData* call);
using Subscriber = void*;
constexpr int kDriverCalls = 1, kBegins = 0;

using Context = void*;
using BufferRequested = void (*)(uint8_t** buffer, size_t* size, size_t* most_records);
using BufferCompleted = void (*)(Context context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);
constexpr uint32_t kFlushForced = 1;
constexpr int kZeroedBuffers = 5;  // CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, a byte
constexpr int kSystemThreadIds = 1;

// A libcupti that was loaded. What older ones lack is null, from subscribe on.
struct Library {
    std::string path;
    Result (*register_callbacks)(BufferRequested, BufferCompleted) = nullptr;
    Result (*enable)(Kind) = nullptr;
    Result (*next_record)(uint8_t* buffer, size_t valid, Record** record) = nullptr;
    Result (*dropped_records)(Context, uint32_t stream, size_t* dropped) = nullptr;
    Result (*flush_all)(uint32_t flag) = nullptr;
    Result (*result_text)(Result, const char** text) = nullptr;
    Result (*subscribe)(Subscriber*, Callback, void* own) = nullptr;
    Result (*enable_callback)(uint32_t enable, Subscriber, int domain, uint32_t callback) = nullptr;
    Result (*set_thread_id_type)(int) = nullptr;
    Result (*enable_driver_call)(uint32_t callback, uint8_t) = nullptr;
    Result (*set_attribute)(int attribute, size_t* size, void* value) = nullptr;

    std::string text(Result result) const;
};

// The CUPTI that the program has loaded, or else the first that is found: in a toolkit that CUDA_HOME or CUDA_PATH names, by the linker
// (LD_LIBRARY_PATH), in /usr/local/cuda, in the Python environment of the program. `program`: the command's first word. `major`: the
// driver's version of CUDA, which no CUPTI may exceed. None, with a sentence in *why, if there is none.
std::optional<Library> load(const std::string& program, int major, std::string* why);

}  // namespace snoopie::cupti
