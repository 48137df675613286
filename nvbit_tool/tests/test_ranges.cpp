// Which ranges are open and which end, whatever the order; and when a launch is recorded.
#include <thread>
#include <vector>

#include "check.h"
#include "phases/ranges.h"
#include "phases/window.h"

using namespace snoopie;

namespace {

class Ended final : public RangeSink {
  public:
    void ended(const Range& range) noexcept override { all.push_back(range); }
    void marked(const Mark& mark) noexcept override { marks.push_back(mark); }
    std::vector<Range> all;
    std::vector<Mark> marks;
};

std::string names(const Ended& sink) {
    std::string text;
    for (const Range& range : sink.all) text += *range.name + (range.end ? " " : "? ");
    return text;
}

void nested() {
    Ranges ranges;
    Ended sink;
    const Name a = ranges.name("a"), b = ranges.name("b"), domain = ranges.name("d");
    CHECK_EQ(a, ranges.name("a"));
    CHECK_EQ(*ranges.name(""), "(no name)");
    CHECK_EQ(ranges.push(a, nullptr), 0);  // before anybody listens
    ranges.send_to(&sink);
    CHECK_EQ(ranges.push(b, domain), 1);
    CHECK_EQ(ranges.push(b, nullptr), 2);
    CHECK_EQ(ranges.pop(domain), 2);
    CHECK_EQ(ranges.pop(domain), -1);
    CHECK_EQ(ranges.pop(nullptr), 1);
    CHECK_EQ(ranges.pop(nullptr), 0);
    CHECK_EQ(ranges.pop(nullptr), -1);
    CHECK_EQ(names(sink), "b b a ");
    CHECK(sink.all[0].domain == domain && !sink.all[1].domain);
    CHECK(sink.all[2].start <= sink.all[0].start && sink.all[0].end <= sink.all[2].end && sink.all[2].pushed);
}

void threads() {
    Ranges ranges;
    Ended sink;
    ranges.send_to(&sink);
    ranges.push(ranges.name("own"), nullptr);
    const uint64_t number = ranges.start(ranges.name("shared"), nullptr);
    std::thread([&] {
        CHECK_EQ(ranges.pop(nullptr), -1);
        ranges.push(ranges.name("left open"), nullptr);
        ranges.end(number);
    }).join();
    ranges.end(number);
    ranges.mark(ranges.name("here"), nullptr);
    CHECK_EQ(sink.marks.size(), 1u);
    ranges.start(ranges.name("never ends"), nullptr);
    CHECK_EQ(names(sink), "shared ");
    ranges.give_up_open();
    CHECK_EQ(sink.all.size(), 4u);
    for (size_t i = 1; i < 4; ++i) CHECK_EQ(sink.all[i].end, 0u);
    ranges.pop(nullptr);
    CHECK_EQ(sink.all.size(), 4u);
}

void limits() {
    Ranges ranges;
    Ended sink;
    ranges.send_to(&sink);
    const Name deep = ranges.name("deep");
    for (size_t i = 0; i < Ranges::kMostNested + 10; ++i) CHECK_EQ(ranges.push(deep, nullptr), static_cast<int>(i));
    for (size_t i = Ranges::kMostNested + 10; i-- > 0;) CHECK_EQ(ranges.pop(nullptr), static_cast<int>(i));
    CHECK_EQ(sink.all.size(), Ranges::kMostNested);
    CHECK_EQ(ranges.name(std::string(1000, 'x'))->size(), Ranges::kMostText);
    CHECK_EQ(*ranges.name(std::string(Ranges::kMostText - 1, 'x') + "\xC3\xB6"), std::string(Ranges::kMostText - 1, 'x'));
    CHECK(!ranges.out_of_names());
    for (size_t i = 0; i < Ranges::kMostNames + 10; ++i) ranges.name(std::to_string(i));
    CHECK(ranges.out_of_names());
    CHECK_EQ(ranges.name("one more"), ranges.name("and another"));
    CHECK_EQ(ranges.name("deep"), deep);
    for (size_t i = 0; i < Ranges::kMostStarted; ++i) CHECK(ranges.start(deep, nullptr) != 0);
    CHECK_EQ(ranges.start(deep, nullptr), 0u);
}

// Which of some launches are taken, as 0 and 1.
std::string taken(Window& window, int launches) {
    std::string text;
    for (int i = 0; i < launches; ++i) text += window.takes_launch() ? '1' : '0';
    return text;
}

void by_number() {
    Ranges ranges;
    Wanted wanted;
    Options options;
    Window all(options, now_ns(), &wanted, &ranges);
    CHECK_EQ(taken(all, 3), "111");
    options.launch_skip = 2;
    Window skipping(options, now_ns(), &wanted, &ranges);
    CHECK_EQ(taken(skipping, 5), "00111");
    CHECK_EQ(skipping.launches_outside.load(), 2u);
    options.launch_count = 2;
    Window some(options, now_ns(), &wanted, &ranges);
    CHECK_EQ(taken(some, 6), "001100");
    wanted.by_program(false);
    Window stopped(options, now_ns(), &wanted, &ranges);
    CHECK_EQ(taken(stopped, 3), "000");
    wanted.by_program(true);
    CHECK_EQ(taken(stopped, 5), "00110");  // those while stopped have no number
}

void by_range() {
    Ranges ranges;
    Wanted wanted;
    Options options;
    options.capture_range = "solve";
    const Name solve = ranges.name("solve"), domain = ranges.name("lib");
    ranges.push(solve, nullptr);  // before the recording began
    Window window(options, now_ns(), &wanted, &ranges);
    CHECK(window.open());
    const uint64_t number = ranges.start(solve, domain);
    ranges.pop(nullptr);
    CHECK(window.open());
    wanted.by_program(false);
    CHECK(!window.open());
    wanted.by_program(true);
    ranges.push(ranges.name("other"), nullptr);
    ranges.end(number);
    CHECK(!window.open());
    options.capture_range = "solve@lib";
    Window in_domain(options, now_ns(), &wanted, &ranges);
    ranges.push(solve, nullptr);
    CHECK(!in_domain.open());
    ranges.push(solve, domain);
    CHECK(in_domain.open());
}

void by_profiler_and_time() {
    Ranges ranges;
    Wanted wanted;
    Options options;
    Window always(options, now_ns(), &wanted, &ranges);
    options.capture_range = kProfilerApi;
    Window window(options, now_ns(), &wanted, &ranges);
    CHECK(!window.open());
    wanted.by_profiler(true);
    CHECK(window.open());
    wanted.by_profiler(false);
    CHECK(!window.open() && always.open());
    wanted.by_program(true);
    CHECK(window.open());

    constexpr uint64_t kSecond = 1'000'000'000;
    Options timed;
    timed.delay = 10;
    timed.duration = 5;
    const auto began = [&](uint64_t seconds_ago) { return Window(timed, now_ns() - seconds_ago * kSecond, &wanted, &ranges).open(); };
    CHECK(!began(2) && began(12) && !began(100));
    timed.duration = 0;
    CHECK(!began(2) && began(100));
    timed = {};
    timed.duration = 50;
    CHECK(began(2) && !began(100));
}

}  // namespace

int main() {
    nested();
    threads();
    limits();
    by_number();
    by_range();
    by_profiler_and_time();
    return test::summary("ranges");
}
