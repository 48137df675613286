#include "launches/launch_code.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "nvbit.h"

namespace snoopie {

namespace {

// Looks at least once, until it does.
template <class Condition>
bool comes_about(std::chrono::milliseconds patience, Condition condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::yield();
    }
    return true;
}

}  // namespace

bool LaunchCode::choose(ContextFunction& function, const LaunchCall& call, std::optional<uint64_t> value, bool new_code,
                        const CallSet* live) {
    const bool measured = value.has_value();
    if (!measured && !new_code && !function.enabled && function.uncounted) return true;
    bool instrumented = measured;
    if (!measured && function.enabled) instrumented = function.nodes_under_way > 0 || !can_take_out(function);
    if (measured && function.enabled && function.in_place != live) {
        const bool covered = covers(function.in_place, live);
        const std::chrono::milliseconds patience = !covered ? kPatience : function.changed_late ? kLeastPatience : kPatienceForLess;
        const StreamKind first = covered ? StreamKind::blocking : StreamKind::apart;
        const bool begun = can_write(function, call.stream, first, patience) && begin_anew(function, call);
        if (!begun) (covered ? function.changed_late : function.stays) = true;
        if (!begun && !covered) {
            set(function, call, true, kLaunchUncounted, new_code);
            return false;
        }
    }
    const bool written = measured && !function.enabled;
    set(function, call, instrumented, value.value_or(kLaunchUncounted), new_code);
    if (written) {
        function.in_place = new_code ? nullptr : live;
        // Should it stop half-way, more calls are in place than said.
        if (function.in_place) words_->restore(*function.words, *live);
        const std::unique_lock lock(mutex_);
        function.written = ++writes_;  // with the words
    }
    if (!measured || in_place(function, call.stream)) return true;
    function.stays = true;
    set(function, call, true, kLaunchUncounted, false);
    return false;
}

void LaunchCode::keep(ContextFunction& function, const LaunchCall& call, bool new_code) {
    function.in_graph = true;
    if (!function.enabled) function.in_place = nullptr;
    // Each launch that is captured makes its node from what is said at its own call.
    set(function, call, true, kLaunchUncounted, new_code, true);
}

bool LaunchCode::can_take_out(ContextFunction& function) const {
    const std::chrono::milliseconds patience = function.changed_late ? kLeastPatience : kPatienceForOwn;
    const bool can = comes_about(patience, [&] { return !context_->under_way(function, StreamKind::blocking); });
    function.changed_late |= !can;
    return can;
}

bool LaunchCode::can_write(const ContextFunction& function, CUstream stream, StreamKind first, std::chrono::milliseconds patience) {
    const bool apart = kind_of(stream) == StreamKind::apart;
    if (apart) {
        const std::unique_lock lock(mutex_);
        if (!record_written()) return false;
    }
    return comes_about(patience,
                       [&] { return (!apart || cuEventQuery(written_) == CUDA_SUCCESS) && !context_->under_way(function, first); });
}

bool LaunchCode::record_written() {
    if (!written_ && !succeeded(cuEventCreate(&written_, CU_EVENT_DISABLE_TIMING))) return false;
    return succeeded(cuEventRecord(written_, CU_STREAM_LEGACY));
}

bool LaunchCode::begin_anew(ContextFunction& function, const LaunchCall& call) {
    // Another thread is about to launch a graph with this code: where it waits for this thread, this one goes on.
    if (!comes_about(kPatienceForGraphs, [&] { return function.nodes_under_way == 0; })) return false;
    // The kernel alone: functions that it calls have all their calls in any case.
    nvbit_enable_instrumented(context_->handle(), call.function, false, false);
    function.enabled = false;
    return true;
}

void LaunchCode::keep_words(ContextFunction& function, const LaunchCall& call) {
    std::vector<uint32_t> offsets;
    std::vector<JumpGuard> guards;
    for (const FunctionAddresses::Call& one : function.addresses->calls) {
        offsets.push_back(one.offset);
        guards.push_back(one.guard);
    }
    function.words = words_->keep(nvbit_get_func_addr(context_->handle(), call.function), std::move(offsets), std::move(guards));
}

void LaunchCode::set(ContextFunction& function, const LaunchCall& call, bool instrumented, uint64_t value, bool new_code, bool always) {
    const bool first = new_code && !function.enabled && !function.words;
    if (first && words_ && function.addresses && !function.addresses->calls.empty()) keep_words(function, call);
    const bool cell = instrumented && function.slow_values && !function.in_graph;
    const uint64_t given = cell ? by_cell(function, call.stream, value) : value;
    std::unique_lock lock(mutex_);
    // What several kernels call follows the one that was switched last.
    const bool overruled = function.shares_code && function.written < (instrumented ? shared_off_ : shared_on_);
    const bool switches = new_code || overruled || instrumented != function.enabled;
    lock.unlock();
    function.uncounted = value == kLaunchUncounted;
    if (!always && !switches && given == function.given && (is_launch_cell(given) || given == kLaunchUncounted)) return;
    function.given = given;
    nvbit_set_at_launch(context_->handle(), call.function, given);
    // The value takes effect with this call only. For a kernel with hundreds of related functions it takes 2 ms if it goes to them, too.
    nvbit_enable_instrumented(context_->handle(), call.function, instrumented, switches);
    lock.lock();
    if (switches) {
        function.written = ++writes_;
        if (function.shares_code) (instrumented ? shared_on_ : shared_off_) = writes_;
    }
    function.enabled = instrumented;
}

uint64_t LaunchCode::by_cell(const ContextFunction& function, CUstream stream, uint64_t value) {
    const std::optional<uint64_t> cell = cells_.cell(function, stream);
    return cell && context_->memory()->write_launch_cell(*cell, value, stream) ? *cell : value;
}

bool LaunchCode::in_place(const ContextFunction& function, CUstream stream) {
    const std::unique_lock lock(mutex_);
    const uint64_t needed = function.shares_code ? std::max({function.written, shared_on_, shared_off_}) : function.written;
    if (needed <= done_ || kind_of(stream) != StreamKind::apart) return true;
    if (!record_written()) return false;
    CUresult result = CUDA_ERROR_NOT_READY;
    comes_about(kPatience, [&] { return (result = cuEventQuery(written_)) != CUDA_ERROR_NOT_READY; });
    if (result == CUDA_SUCCESS) done_ = writes_;
    return result == CUDA_SUCCESS;
}

}  // namespace snoopie
