// A libcupti that delivers the records of a script, one a line, through its client's buffers. It drops what finds no room, and after the
// driver's end it delivers nothing: as CUPTI does. Buffers that it is told are zero have to be. It has no subscriber yet with
// FAKE_SUBSCRIBER=none, else another one.
//
//   call CORRELATION THREAD START END                      a record of a call, if those are wanted
//   launch CORRELATION                                     a call that launches, of which a subscriber hears
//   begin NAME, end, record 0|1                            the program's calls of snoopie.h
//   profiler start|stop                                    the program's calls of cudaProfilerStart and Stop
//   kernel NAME DEVICE STREAM CORRELATION START END GX GY GZ BX BY BZ SHARED
//   many N NAME DEVICE STREAM START STEP                   N kernels of one block
//   copy DIRECTION FROM TO BYTES DEVICE STREAM CORRELATION START END
//   peer FROM TO BYTES DEVICE STREAM CORRELATION START END
//   memset BYTES DEVICE
//   drop N                                                 as if its own memory had been full
//   full                                                   hands the buffer over
//   read                                                   the same, and waits until all that were handed over have been read
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "../../include/snoopie.h"
#include "times/cupti.h"

using namespace snoopie::cupti;

namespace {

constexpr size_t kTail = 48;  // later versions add to every record

BufferRequested request = nullptr;
BufferCompleted complete = nullptr;
std::set<Kind> enabled;
std::mutex mutex;
uint8_t* buffer = nullptr;
size_t size = 0;
size_t used = 0;
size_t dropped = 0;
bool zeroed = false;
bool driver_calls = false;
Callback subscriber = nullptr;
std::set<uint32_t> heard;
size_t handed_over = 0;
std::atomic<size_t> read_to_end{0};
std::deque<std::string> names;

size_t size_of(Kind kind) {
    switch (kind) {
        case Kind::concurrent_kernel:
            return sizeof(Kernel) + kTail;
        case Kind::memcpy:
            return sizeof(Memcpy) + kTail;
        case Kind::memcpy_peer:
            return sizeof(MemcpyPeer) + kTail;
        case Kind::memset:
            return sizeof(Memset) + kTail;
        default:
            return sizeof(Call);
    }
}

bool driver_ended() {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const auto ended = driver ? reinterpret_cast<bool (*)()>(dlsym(driver, "fake_driver_ended")) : nullptr;
    return ended && ended();
}

void hand_over() {
    if (!buffer || driver_ended()) return;
    ++handed_over;
    complete(nullptr, 0, buffer, size, used);
    buffer = nullptr;
}

template <class Row>
void deliver(Row row) {
    if (row.kind == Kind::driver ? !driver_calls : enabled.count(row.kind) == 0) return;
    const size_t bytes = size_of(row.kind);
    if (buffer && used + bytes > size) hand_over();
    if (!buffer) {
        size_t most = 0;
        used = 0;
        request(&buffer, &size, &most);
        const auto is_set = [](uint8_t byte) { return byte != 0; };
        if (buffer && zeroed && std::any_of(buffer, buffer + size, is_set)) std::abort();
    }
    if (!buffer) {
        ++dropped;
        return;
    }
    std::memset(buffer + used, 0xee, bytes);
    std::memcpy(buffer + used, &row, sizeof row);
    used += bytes;
}

void play(std::istringstream line) {
    std::string what;
    line >> what;
    uint32_t kind = 0;
    uint32_t first = 0;
    uint32_t second = 0;
    if (what == "call") {
        Call call{};
        line >> call.correlation >> call.thread >> call.start >> call.end;
        call.kind = Kind::driver;
        deliver(call);
    } else if (what == "launch") {
        CallData call{};
        line >> call.correlation;
        for (const uint32_t callback : heard)
            if (subscriber && callback == kDriverLaunches[3])
                for (call.site = kBegins; call.site <= kBegins + 1; ++call.site) subscriber(nullptr, kDriverCalls, callback, &call);
    } else if (what == "begin") {
        std::string name;
        line >> name;
        snoopie_begin(name.c_str());
    } else if (what == "end") {
        snoopie_end();
    } else if (what == "record") {
        int on = 0;
        line >> on;
        snoopie_record(on);
    } else if (what == "profiler") {
        std::string word;
        line >> word;
        const uint32_t callback = word == "start" ? kProfilerStart : kProfilerStop;
        CallData call{};
        for (call.site = kBegins; call.site <= kBegins + 1; ++call.site)
            if (heard.count(callback)) subscriber(nullptr, kDriverCalls, callback, &call);
    } else if (what == "kernel") {
        Kernel kernel{};
        kernel.kind = Kind::concurrent_kernel;
        std::string name;
        line >> name >> kernel.device >> kernel.stream >> kernel.correlation >> kernel.start >> kernel.end;
        for (int& blocks : kernel.grid) line >> blocks;
        for (int& threads : kernel.block) line >> threads;
        line >> kernel.dynamic_shared_memory;
        kernel.name = names.emplace_back(name).c_str();
        deliver(kernel);
    } else if (what == "many") {
        Kernel kernel{};
        kernel.kind = Kind::concurrent_kernel;
        uint32_t number = 0;
        uint64_t step = 0;
        std::string name;
        line >> number >> name >> kernel.device >> kernel.stream >> kernel.start >> step;
        kernel.name = names.emplace_back(name).c_str();
        for (int axis = 0; axis < 3; ++axis) kernel.grid[axis] = kernel.block[axis] = 1;
        for (uint32_t i = 0; i < number; ++i, kernel.start += step) {
            kernel.end = kernel.start + step / 2;
            deliver(kernel);
        }
    } else if (what == "copy") {
        Memcpy copy{};
        copy.kind = Kind::memcpy;
        line >> kind >> first >> second >> copy.bytes >> copy.device >> copy.stream >> copy.correlation >> copy.start >> copy.end;
        copy.copy_kind = static_cast<uint8_t>(kind);
        copy.source_kind = static_cast<uint8_t>(first);
        copy.destination_kind = static_cast<uint8_t>(second);
        deliver(copy);
    } else if (what == "peer") {
        MemcpyPeer copy{};
        copy.kind = Kind::memcpy_peer;
        line >> copy.source_device >> copy.destination_device >> copy.bytes >> copy.device >> copy.stream >> copy.correlation;
        line >> copy.start >> copy.end;
        deliver(copy);
    } else if (what == "memset") {
        Memset memset{};
        memset.kind = Kind::memset;
        line >> memset.bytes >> memset.device;
        deliver(memset);
    } else if (what == "drop") {
        size_t more = 0;
        line >> more;
        dropped += more;
    } else if (what == "full" || what == "read") {
        hand_over();
    }
}

}  // namespace

extern "C" {

int fake_play(const char* path) {
    std::ifstream script(path);
    for (std::string line; std::getline(script, line);) {
        {
            std::unique_lock lock(mutex);
            play(std::istringstream(line));
        }
        while (line == "read" && read_to_end < handed_over) std::this_thread::yield();
    }
    return 0;
}

Result cuptiActivityRegisterCallbacks(BufferRequested requested, BufferCompleted completed) {
    request = requested;
    complete = completed;
    return 0;
}

Result cuptiActivityEnable(Kind kind) {
#ifdef REFUSE
    return 15;
#endif
    enabled.insert(kind);
    return 0;
}

Result cuptiActivityGetNextRecord(uint8_t* from, size_t valid, Record** record) {
    uint8_t* const next = *record ? reinterpret_cast<uint8_t*>(*record) + size_of((*record)->kind) : from;
    if (next >= from + valid) return ++read_to_end, 12;
    *record = reinterpret_cast<Record*>(next);
    return 0;
}

Result cuptiActivityGetNumDroppedRecords(Context, uint32_t, size_t* number) {
    std::unique_lock lock(mutex);
    *number = dropped;
    dropped = 0;
    return 0;
}

Result cuptiActivityFlushAll(uint32_t flag) {
    std::unique_lock lock(mutex);
    if (flag == kFlushForced) hand_over();
    return 0;
}

Result cuptiGetResultString(Result, const char** text) {
    *text = "CUPTI_ERROR_NOT_INITIALIZED";
    return 0;
}

Result cuptiSetThreadIdType(int type) { return type == kSystemThreadIds ? 0 : 1; }
Result cuptiActivityEnableDriverApi(uint32_t, uint8_t) {
    driver_calls = true;
    return 0;
}

Result cuptiSubscribe(Subscriber* made, Callback callback, void*) {
    const char* const other = std::getenv("FAKE_SUBSCRIBER");
    if (!other || std::strcmp(other, "none") != 0 || !enabled.empty()) return 39;
    subscriber = callback;
    *made = &subscriber;
    return 0;
}

Result cuptiEnableCallback(uint32_t enable, Subscriber own, int domain, uint32_t callback) {
    // One that is newer than this CUPTI.
    if (own != &subscriber || domain != kDriverCalls || !enable || callback > 600) return 1;
    heard.insert(callback);
    return 0;
}

Result cuptiActivitySetAttribute(int attribute, size_t* bytes, void* value) {
    if (attribute != kZeroedBuffers || *bytes != sizeof(uint8_t)) return 1;
    zeroed = *static_cast<uint8_t*>(value) != 0;
    return 0;
}

}  // extern "C"
