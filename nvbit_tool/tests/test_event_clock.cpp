// Host times of a GPU's events, from milliseconds between them: exact enough, before the base and after it, and right again after a drift.
#include "check.h"
#include "launches/event_clock.h"

using namespace snoopie;

namespace {

constexpr uint64_t kBase = 1'790'000'000'000'000'000;
constexpr uint64_t kMillisecond = 1'000'000;

EventClock at_base() { return EventClock(kBase - 10'000, kBase + 10'000); }

void spans() {
    EventClock clock = at_base();
    const Span after = clock.span(30, 20, kBase);
    CHECK_EQ(after.start, kBase + 10 * kMillisecond);
    CHECK_EQ(after.end, kBase + 30 * kMillisecond);
    const Span before = clock.span(-1.5f, 0.5f, kBase - 10 * kMillisecond);
    CHECK_EQ(before.start, kBase - 2 * kMillisecond);
    CHECK_EQ(before.end, kBase - kMillisecond - kMillisecond / 2);
    // An event that failed to tell does not make a launch run backwards.
    const Span backwards = clock.span(1, -1, kBase - kMillisecond);
    CHECK_EQ(backwards.start, backwards.end);
}

void a_launch_follows_its_call() {
    EventClock clock = at_base();
    const Span span = clock.span(2, 1, kBase + kMillisecond + 3000);
    CHECK_EQ(span.start, kBase + kMillisecond + 3000);
    CHECK_EQ(span.end, kBase + 2 * kMillisecond + 3000);
    // The clock has learned from it.
    CHECK_EQ(clock.span(4, 1, kBase).start, kBase + 3 * kMillisecond + 3000);
}

void renewal() {
    EventClock clock = at_base();
    CHECK(!clock.is_old(kBase));
    CHECK(clock.is_old(kBase + 1001 * kMillisecond));
    CHECK(clock.is_old(kBase - kMillisecond));
    // Where the old base agrees with what was seen, nothing changes.
    clock.renew(1000, kBase + 1000 * kMillisecond - 9000, kBase + 1000 * kMillisecond + 9000);
    CHECK_EQ(clock.span(1, 1, 0).end, kBase + 1001 * kMillisecond);
    // A GPU whose clock is 20 µs a second slow, then one that is fast, then a host whose clock was set back by a minute.
    clock.renew(1000 - 0.02f, kBase + 2000 * kMillisecond - 9000, kBase + 2000 * kMillisecond + 9000);
    CHECK_EQ(clock.span(0, 0, 0).end, kBase + 2000 * kMillisecond - 9000);
    clock.renew(1000 + 0.04f, kBase + 3000 * kMillisecond - 9000, kBase + 3000 * kMillisecond + 9000);
    CHECK_EQ(clock.span(0, 0, 0).end, kBase + 3000 * kMillisecond + 9000);
    clock.renew(1000, kBase - 56'000 * kMillisecond, kBase - 56'000 * kMillisecond + 9000);
    CHECK_EQ(clock.span(0, 0, 0).end, kBase - 56'000 * kMillisecond + 9000);
}

// Renewed every second, it is as exact after an hour as at the beginning.
void an_hour() {
    EventClock clock = at_base();
    for (uint64_t second = 1; second <= 3600; ++second) {
        const uint64_t now = kBase + 1000 * second * kMillisecond;
        clock.renew(1000, now - 10'000, now + 10'000);
    }
    const uint64_t hour = kBase + 3'600'000 * kMillisecond;
    CHECK_EQ(clock.span(999.999f, 0.001f, 0).start / 100, (hour + 999'998'000) / 100);
}

}  // namespace

int main() {
    spans();
    a_launch_follows_its_call();
    renewal();
    an_hour();
    return test::summary("event_clock");
}
