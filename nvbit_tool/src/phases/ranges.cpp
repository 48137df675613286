#include "phases/ranges.h"

#include <pthread.h>

#include <algorithm>

#include "base/clock.h"
#include "base/thread_id.h"

namespace snoopie {

namespace {

constexpr char kNameless[] = "(no name)";
constexpr char kNoMoreNames[] = "(more names than are kept)";

// At most so many bytes, and no character cut in two.
std::string_view shortened(std::string_view text, size_t most) {
    if (text.size() <= most) return text;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
    return text.substr(0, most);
}

}  // namespace

thread_local Ranges::Thread* Ranges::own_ = nullptr;

Ranges& Ranges::of_process() {
    static Ranges& ranges = *[] {
        auto* made = new Ranges;
        pthread_atfork([] { of_process().before_fork(); }, [] { of_process().after_fork(false); }, [] { of_process().after_fork(true); });
        return made;
    }();
    return ranges;
}

Ranges::~Ranges() {
    for (Thread* thread : threads_) {
        if (thread == own_) own_ = nullptr;
        delete thread;
    }
}

Name Ranges::name(std::string_view text) {
    const std::string kept(text.empty() ? kNameless : shortened(text, kMostText));
    const std::unique_lock lock(mutex_);
    const auto found = names_.find(kept);
    if (found != names_.end()) return &*found;
    if (names_.size() < kMostNames) return &*names_.insert(kept).first;
    out_of_names_ = true;
    return &*names_.insert(kNoMoreNames).first;
}

bool Ranges::out_of_names() {
    const std::unique_lock lock(mutex_);
    return out_of_names_;
}

// --- Ranges of a thread ---

int Ranges::push(Name name, Name domain) {
    const std::unique_lock lock(mutex_);
    if (!own_) {
        if (threads_.size() >= kMostThreads) return 0;
        own_ = *threads_.insert(new Thread).first;
    }
    Thread& thread = *own_;
    const int before = static_cast<int>(thread.open.size() + thread.beyond);
    if (thread.open.size() >= kMostNested) {
        ++thread.beyond;
    } else {
        thread.open.push_back({name, domain, thread_id(), true, now_ns(), 0});
        begun(thread.open.back());
    }
    return before;
}

int Ranges::pop(Name domain) {
    const std::unique_lock lock(mutex_);
    if (!own_) return -1;
    Thread& thread = *own_;
    if (thread.beyond > 0) {
        --thread.beyond;
        return static_cast<int>(thread.open.size() + thread.beyond);
    }
    const auto last = std::find_if(thread.open.rbegin(), thread.open.rend(), [&](const Range& range) { return range.domain == domain; });
    if (last == thread.open.rend()) return -1;
    ended(*last);
    thread.open.erase(std::next(last).base());
    const size_t left = thread.open.size();
    if (left == 0) {
        threads_.erase(own_);
        delete own_;
        own_ = nullptr;
    }
    return static_cast<int>(left);
}

// --- Ranges of the process ---

uint64_t Ranges::start(Name name, Name domain) {
    const std::unique_lock lock(mutex_);
    if (started_.size() >= kMostStarted) return 0;
    const Range range{name, domain, thread_id(), false, now_ns(), 0};
    started_.emplace(++last_started_, range);
    begun(range);
    return last_started_;
}

void Ranges::end(uint64_t number) {
    const std::unique_lock lock(mutex_);
    const auto found = started_.find(number);
    if (found == started_.end()) return;
    ended(found->second);
    started_.erase(found);
}

void Ranges::mark(Name text, Name domain) {
    const std::unique_lock lock(mutex_);
    if (sink_) sink_->marked({text, domain, thread_id(), now_ns()});
}

void Ranges::after_fork(bool in_child) {
    if (in_child) {
        // The other threads are gone, and this one has another number.
        for (Thread* thread : threads_) {
            for (Range& range : thread->open)
                if (thread == own_)
                    range.thread = thread_id();
                else if (is_watched(range))
                    watched_open_.fetch_sub(1, std::memory_order_relaxed);
            if (thread != own_) delete thread;
        }
        threads_.clear();
        if (own_) threads_.insert(own_);
    }
    mutex_.unlock();
}

// --- Where they go ---

void Ranges::send_to(RangeSink* sink) {
    const std::unique_lock lock(mutex_);
    sink_ = sink;
}

void Ranges::give_up_open() {
    const std::unique_lock lock(mutex_);
    if (sink_) {
        for (const Thread* thread : threads_)
            for (const Range& range : thread->open) sink_->ended(range);
        for (const auto& [number, range] : started_) sink_->ended(range);
    }
    sink_ = nullptr;
}

void Ranges::watch(const std::string& name) {
    const std::unique_lock lock(mutex_);
    watched_ = name;
    watched_open_ = 0;
    for (const Thread* thread : threads_)
        for (const Range& range : thread->open) begun(range);
    for (const auto& [number, range] : started_) begun(range);
}

bool Ranges::is_watched(const Range& range) const {
    if (watched_.empty()) return false;
    return *range.name == watched_ || (range.domain && *range.name + "@" + *range.domain == watched_);
}

void Ranges::begun(const Range& range) {
    if (is_watched(range)) watched_open_.fetch_add(1, std::memory_order_relaxed);
}

void Ranges::ended(Range range) {
    if (is_watched(range)) watched_open_.fetch_sub(1, std::memory_order_relaxed);
    range.end = now_ns();
    if (sink_) sink_->ended(range);
}

}  // namespace snoopie
