#include "launches/gpu_clock.h"

#include "base/clock.h"

namespace snoopie {

namespace {

// The first finds much to do for the first time; each can make the time known to a narrower interval.
constexpr int kObservations = 5;
// ns. At first a GPU that others use too may be theirs for so long; without the first observations there are none at all.
constexpr uint64_t kFirstPatience = 200'000'000;
constexpr uint64_t kPatience = 2'000'000;

struct Observation {
    uint64_t before;
    uint64_t after;
};

// Has an event happen; none if it has not in time.
std::optional<Observation> observe(CUevent event, CUstream stream, uint64_t patience) {
    const uint64_t before = now_ns();
    if (!succeeded(cuEventRecord(event, stream))) return std::nullopt;
    CUresult result;
    while ((result = cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
        if (now_ns() - before > patience) return std::nullopt;
    if (!succeeded(result)) return std::nullopt;
    return Observation{before, now_ns()};
}

}  // namespace

std::unique_ptr<GpuClock> GpuClock::create(CUstream stream) {
    CUevent base = nullptr;
    CUevent next = nullptr;
    if (!succeeded(cuEventCreate(&base, CU_EVENT_DEFAULT)) || !succeeded(cuEventCreate(&next, CU_EVENT_DEFAULT))) return nullptr;
    if (!observe(next, stream, kFirstPatience)) return nullptr;
    const auto seen = observe(base, stream, kFirstPatience);
    if (!seen) return nullptr;
    std::unique_ptr<GpuClock> clock(new GpuClock(stream, base, next, EventClock(seen->before, seen->after)));
    for (int i = 0; i < kObservations; ++i) clock->renew();
    return clock;
}

CUresult GpuClock::span(CUevent start, CUevent end, uint64_t called, Span* span) {
    float since = 0;
    float length = 0;
    CUresult result = cuEventElapsedTime(&since, base_, end);
    if (result == CUDA_SUCCESS) result = cuEventElapsedTime(&length, start, end);
    if (result == CUDA_SUCCESS) *span = clock_.span(since, length, called);
    return result;
}

void GpuClock::keep_up() {
    if (clock_.is_old(now_ns())) renew();
}

void GpuClock::renew() {
    const auto seen = observe(next_, stream_, kPatience);
    float since = 0;
    if (!seen || !succeeded(cuEventElapsedTime(&since, base_, next_))) return;
    clock_.renew(since, seen->before, seen->after);
    std::swap(base_, next_);
}

}  // namespace snoopie
