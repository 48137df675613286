// NVBit ends the program where it cannot go on: with an instruction that it does not know, or without memory. Here it ends itself alone.
// What it was called for comes to nothing, it is not called again, and the program goes on.
//
// It is left by a jump to where it was entered, since exceptions do not pass through its frames: the compiler knows that _exit throws none.
// What it held is not given back, but for its lock.
#pragma once

#include <csetjmp>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace snoopie {

// What a function of NVBit's throws, in the frame of who called it, where it has ended NVBit, or NVBit has ended before.
class NvbitEnded : public std::exception {
  public:
    const char* what() const noexcept override;
};

bool nvbit_has_ended();

// `tell` is called once, with the reason, by a thread that is out of NVBit; null: nobody is told.
void when_nvbit_ends(void (*tell)(const char* why));

// Whether this thread is in NVBit, entered by the functions below, and not in code of the collector's that NVBit has called.
bool in_nvbit();

inline constexpr char kNvbitCouldNotGoOn[] = "NVBit, which instruments kernels, could not go on; what it printed says why";

// Ends NVBit where this thread is in it, else returns. `why` is kept as it is.
void end_nvbit(const char* why = kNvbitCouldNotGoOn);

// Of NVBit's lock, the times that this thread holds it; and giving it back until it does so `times`.
int nvbit_locks();
void unlock_nvbit(int times);

// The place where a thread enters NVBit. From there on, all frames are NVBit's.
class NvbitCall {
  public:
    NvbitCall();
    ~NvbitCall();
    NvbitCall(const NvbitCall&) = delete;
    NvbitCall& operator=(const NvbitCall&) = delete;

    jmp_buf place;

  private:
    friend void end_nvbit(const char* why);
    NvbitCall* const outer_;
    const int locks_;
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
    OutOfNvbit();
    ~OutOfNvbit();
    OutOfNvbit(const OutOfNvbit&) = delete;
    OutOfNvbit& operator=(const OutOfNvbit&) = delete;

  private:
    NvbitCall* const outer_;
};

}  // namespace snoopie
