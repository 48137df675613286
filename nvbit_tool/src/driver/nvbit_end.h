// NVBit ends the program where it cannot go on: with an instruction that it does not know, or without memory. Here it ends itself alone.
// What it was called for comes to nothing, it is not called again, and the program goes on.
//
// It is left by a jump to where it was entered, since exceptions do not pass through its frames: the compiler knows that _exit throws none.
// What it held is not given back, but for its lock.
#pragma once

#include <pthread.h>

#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/thread_id.h"

namespace snoopie {

// What a function of NVBit's throws, in the frame of who called it, where it has ended NVBit, or NVBit has ended before.
class NvbitEnded : public std::exception {
  public:
    const char* what() const noexcept override;
};

// Why it has ended; null: it goes on.
extern std::atomic<const char*> nvbit_end_reason;
inline bool nvbit_has_ended() { return nvbit_end_reason.load(std::memory_order_acquire) != nullptr; }

// `tell` is called once, with the reason, by a thread that is out of NVBit; null: nobody is told.
void when_nvbit_ends(void (*tell)(const char* why));

// Whether this thread is in NVBit, entered by the functions below, and not in code of the collector's that NVBit has called.
bool in_nvbit();

inline constexpr char kNvbitCouldNotGoOn[] = "NVBit, which instruments kernels, could not go on; what it printed says why";

// Ends NVBit where this thread is in it, else returns. `why` is kept as it is.
void end_nvbit(const char* why = kNvbitCouldNotGoOn);

// NVBit's lock, which a thread may hold several times; null before there is one.
extern std::atomic<pthread_mutex_t*> nvbit_lock;

class NvbitCall;

// What a thread is in. Asked at every driver call, so one look-up has all.
struct NvbitThread {
    NvbitCall* innermost = nullptr;  // null: it is not in NVBit, or in code of the collector's that NVBit has called
    int entries = 0;                 // into NVBit that it has not left, with those around code of the collector's

    // The times that it holds NVBit's lock, as glibc has it in the lock.
    static unsigned locks() {
        const pthread_mutex_t* const lock = nvbit_lock.load(std::memory_order_relaxed);
        const unsigned times = lock ? __atomic_load_n(&lock->__data.__count, __ATOMIC_RELAXED) : 0;
        const bool own = times > 0 && static_cast<uint32_t>(__atomic_load_n(&lock->__data.__owner, __ATOMIC_RELAXED)) == thread_id();
        return own ? times : 0;
    }
};
NvbitThread& nvbit_thread();

// The place where a thread enters NVBit. From there on, all frames are NVBit's.
class NvbitCall {
  public:
    NvbitCall() : thread_(nvbit_thread()), outer_(thread_.innermost), locks_(NvbitThread::locks()) {
        thread_.innermost = this;
        ++thread_.entries;
    }
    ~NvbitCall() {
        thread_.innermost = outer_;
        if (--thread_.entries == 0 && nvbit_has_ended()) left_nvbit();
    }
    NvbitCall(const NvbitCall&) = delete;
    NvbitCall& operator=(const NvbitCall&) = delete;

    jmp_buf place;

  private:
    friend void end_nvbit(const char* why);
    // For the first time after its end, the listener hears of it.
    static void left_nvbit();

    NvbitThread& thread_;
    NvbitCall* const outer_;
    const unsigned locks_;
};

// Calls NVBit. False if it has ended, there or before.
template <typename Call>
bool into_nvbit(const Call& call) {
    if (nvbit_has_ended()) return false;
    NvbitCall here;
    if (_setjmp(here.place) != 0) return false;
    call();
    return true;
}

// What NVBit answers. Throws NvbitEnded where it does not.
template <typename Call>
auto from_nvbit(const Call& call) -> decltype(call()) {
    using Result = decltype(call());
    if constexpr (std::is_void_v<Result>) {
        if (!into_nvbit(call)) throw NvbitEnded();
    } else if constexpr (std::is_reference_v<Result>) {
        std::remove_reference_t<Result>* result = nullptr;
        if (!into_nvbit([&] { result = &call(); })) throw NvbitEnded();
        return *result;
    } else {
        std::optional<Result> result;
        if (!into_nvbit([&] { result = call(); })) throw NvbitEnded();
        return std::move(*result);
    }
}

// Code of the collector's that NVBit has called: no jump leads past its frames. Where it calls NVBit by a function of which nothing is
// known here, an end is one of the program's.
class OutOfNvbit {
  public:
    OutOfNvbit() : thread_(nvbit_thread()), outer_(thread_.innermost) { thread_.innermost = nullptr; }
    ~OutOfNvbit() { thread_.innermost = outer_; }
    OutOfNvbit(const OutOfNvbit&) = delete;
    OutOfNvbit& operator=(const OutOfNvbit&) = delete;

  private:
    NvbitThread& thread_;
    NvbitCall* const outer_;
};

}  // namespace snoopie
