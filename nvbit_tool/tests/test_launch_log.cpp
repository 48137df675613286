// Launches that threads note while another takes them.
#include <atomic>
#include <thread>
#include <vector>

#include "base/thread_id.h"
#include "check.h"
#include "times/launch_log.h"

using namespace snoopie;

namespace {

void nothing_is_lost() {
    constexpr uint32_t kThreads = 4, kEach = 50'000;
    LaunchLog log;
    std::atomic<uint32_t> running{kThreads};
    std::vector<std::thread> threads;
    std::vector<uint32_t> numbers(kThreads);
    const uint64_t begin = now_ns();
    for (uint32_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            numbers[t] = thread_id();
            for (uint32_t i = 0; i < kEach; ++i) log.note(t * kEach + i, i % 3 == 0);
            --running;
        });
    std::vector<LaunchLog::Note> all;
    for (bool last = false; !last;) {
        last = running == 0;
        const std::vector<LaunchLog::Note>& some = log.take();
        all.insert(all.end(), some.begin(), some.end());
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(all.size(), size_t{kThreads} * kEach);
    std::vector<uint32_t> next(kThreads, 0);
    bool right = true;
    for (const LaunchLog::Note& note : all) {
        const uint32_t thread = note.correlation / kEach;
        right = right && note.correlation % kEach == next[thread]++ && note.called.thread == numbers[thread];
        right = right && note.called.time >= begin && note.called.time <= now_ns() &&
                note.called.outside == (note.correlation % kEach % 3 == 0);
    }
    CHECK(right);
    CHECK(log.take().empty());
}

void it_has_a_bound() {
    LaunchLog log;
    for (size_t i = 0; i < LaunchLog::kMost + 10; ++i) log.note(static_cast<uint32_t>(i), false);
    CHECK_EQ(log.take().size(), LaunchLog::kMost);
    CHECK_EQ(log.lost(), 10u);
    log.note(1, false);
    CHECK_EQ(log.take().size(), 1u);
}

}  // namespace

int main() {
    nothing_is_lost();
    it_has_a_bound();
    return test::summary("launch log");
}
