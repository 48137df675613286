// Times of launches that are not measured. The driver's events are played by this file: they happen when it says so.
#include <map>
#include <set>
#include <vector>

#include "check.h"
#include "driver/driver.h"
#include "launches/launch_timer.h"

using namespace snoopie;

namespace {

template <class Handle>
Handle handle(uint64_t value) {
    return reinterpret_cast<Handle>(value);
}

const CUcontext kContext = handle<CUcontext>(10);
const CUstream kOne = handle<CUstream>(0x70);
const CUstream kOther = handle<CUstream>(0x71);

uint64_t made = 0;
std::map<CUevent, CUstream> recorded;  // and has not happened
bool refuses = false;

// All that was recorded in the stream so far happens.
void runs(CUstream stream) {
    for (auto event = recorded.begin(); event != recorded.end();)
        event = event->second == stream ? recorded.erase(event) : std::next(event);
}

std::vector<uint32_t> landed(LaunchTimer* timer, size_t limit = 100) {
    const std::vector<LaunchTimer::Timing> landed = timer->landed(limit, [](const LaunchTimer::Timing& timing) {
        CHECK(!recorded.count(timing.start) || recorded.count(timing.end));
        return !recorded.count(timing.end);
    });
    std::vector<uint32_t> launches;
    for (const LaunchTimer::Timing& timing : landed) launches.push_back(timing.launch);
    timer->give_back(landed);
    return launches;
}

void launch(LaunchTimer* timer, uint32_t id, CUstream stream) {
    auto timing = timer->begin(stream);
    CHECK(timing.has_value());
    if (!timing) return;
    CHECK(timing->called > 0);
    timing->launch = id;
    timer->end(*timing, stream);
}

}  // namespace

namespace snoopie {

std::atomic<uint64_t> driver_errors{0};
OwnCalls::OwnCalls() : outermost_(false) {}
OwnCalls::~OwnCalls() = default;
CurrentContext::CurrentContext(CUcontext context) : context_(context) {}
CurrentContext::~CurrentContext() = default;

}  // namespace snoopie

CUresult cuEventCreate(CUevent* event, unsigned) {
    CHECK(OwnCalls::active());
    *event = handle<CUevent>(++made);
    return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
    CHECK(OwnCalls::active());
    if (refuses) return CUDA_ERROR_INVALID_VALUE;
    recorded[event] = stream;
    return CUDA_SUCCESS;
}

int main() {
    using Launches = std::vector<uint32_t>;
    LaunchTimer timer(kContext);
    launch(&timer, 1, kOne);
    launch(&timer, 2, kOther);
    launch(&timer, 3, kOne);
    CHECK(timer.busy());
    CHECK(landed(&timer) == Launches());
    runs(kOther);
    CHECK(landed(&timer) == Launches{2});
    runs(kOne);
    // In the order of the stream, and no more than are asked for.
    CHECK(landed(&timer, 1) == Launches{1});
    CHECK(timer.busy());
    CHECK(landed(&timer) == Launches{3});
    CHECK(!timer.busy());

    // Events are used again.
    const uint64_t before = made;
    for (uint32_t id = 10; id < 13; ++id) launch(&timer, id, kOne);
    CHECK_EQ(made, before);
    runs(kOne);
    CHECK(landed(&timer) == (Launches{10, 11, 12}));

    // A launch that failed, and a driver that refuses, leave nothing under way.
    const auto failed = timer.begin(kOne);
    CHECK(failed.has_value());
    timer.cancel(*failed);
    refuses = true;
    CHECK(!timer.begin(kOne).has_value());
    refuses = false;
    CHECK(!timer.busy());
    CHECK_EQ(made, before);

    // At most so many are under way; the next finds room when some have ended.
    for (size_t i = 0; i < LaunchTimer::kMost; ++i) launch(&timer, 20, kOne);
    CHECK(!timer.begin(kOne).has_value());
    runs(kOne);
    CHECK_EQ(landed(&timer, 5).size(), 5u);
    launch(&timer, 21, kOne);

    runs(kOne);
    CHECK_EQ(landed(&timer, LaunchTimer::kMost).size(), LaunchTimer::kMost - 4);
    CHECK(!timer.busy());
    return test::summary("launch_timer");
}
