#include "launches/context.h"

#include <algorithm>

#include "base/clock.h"
#include "base/thread_id.h"
#include "launches/launch_code.h"
#include "nvbit.h"

namespace snoopie {

namespace {

// From one launch that comes back to the next, where all counters are in use. Kernels that take longer wait for something themselves, which
// may be the very launch that has none.
constexpr auto kBoardPatience = std::chrono::seconds(10);

uint32_t sites_of(const ContextFunction& function) { return function.last_site - function.first_site + 1; }

}  // namespace

Context::Context(CUcontext handle, uint8_t gpu) : handle_(handle), gpu_(gpu), events_(handle), code_(std::make_unique<LaunchCode>(this)) {}
Context::~Context() = default;

uint64_t Context::identity(CUfunction handle) const {
    const uint64_t address = nvbit_get_func_addr(handle_, handle);
    return address ? address : reinterpret_cast<uint64_t>(handle);
}

ContextFunction& Context::function(CUfunction handle) {
    std::unique_lock lock(functions_mutex_);
    ContextFunction*& function = functions_[handle];
    if (!function) {
        const OwnCalls own;
        std::unique_ptr<ContextFunction>& owned = functions_by_identity_[identity(handle)];
        if (!owned) owned = std::make_unique<ContextFunction>();
        function = owned.get();
    }
    return *function;
}

std::vector<CUfunction> Context::handles() {
    std::unique_lock lock(functions_mutex_);
    std::vector<CUfunction> handles;
    for (const auto& [handle, function] : functions_) handles.push_back(handle);
    return handles;
}

std::vector<uint64_t> Context::forget(const std::vector<CUfunction>& handles) {
    std::unique_lock lock(functions_mutex_);
    std::vector<uint64_t> identities;
    for (const CUfunction handle : handles) {
        const auto known = functions_.find(handle);
        if (known == functions_.end()) continue;
        const ContextFunction* const function = known->second;
        const auto owned = std::find_if(functions_by_identity_.begin(), functions_by_identity_.end(),
                                        [&](const auto& one) { return one.second.get() == function; });
        if (owned != functions_by_identity_.end()) {
            identities.push_back(owned->first);
            forgotten_.push_back(std::move(owned->second));
            functions_by_identity_.erase(owned);
        }
        // Other handles of it, too.
        for (auto one = functions_.begin(); one != functions_.end();)
            one = one->second == function ? functions_.erase(one) : std::next(one);
    }
    return identities;
}

std::vector<const ContextFunction*> Context::functions() {
    std::unique_lock lock(functions_mutex_);
    std::vector<const ContextFunction*> functions;
    for (const auto& function : forgotten_) functions.push_back(function.get());
    for (const auto& [identity, function] : functions_by_identity_) functions.push_back(function.get());
    return functions;
}

// A program that is further ahead of its kernels than there are counters is slowed down to them, as the driver does with one that has some
// thousand launches under way.
std::optional<Flight> Context::board(uint32_t launch, ContextFunction& function, uint64_t blocks) {
    std::unique_lock lock(mutex_);
    std::optional<Flight> flight = board_locked(launch, function, blocks);
    if (flight || !memory_->can_hold(sites_of(function))) return flight;
    const auto begin = std::chrono::steady_clock::now();
    while (!flight && !waited_in_vain_ && some_come_back_locked()) {
        const uint64_t before = came_back_;
        waited_in_vain_ = !comes_back_.wait_for(lock, kBoardPatience, [&] { return came_back_ != before || !some_come_back_locked(); });
        flight = board_locked(launch, function, blocks);
    }
    waited_ += std::chrono::steady_clock::now() - begin;
    return flight;
}

std::chrono::nanoseconds Context::waited() const {
    std::unique_lock lock(mutex_);
    return waited_;
}

// Rather without banks than not at all.
std::optional<Flight> Context::board_locked(uint32_t launch, ContextFunction& function, uint64_t blocks) {
    std::optional<Flight> flight = board_locked(launch, function, blocks, true);
    return flight ? flight : board_locked(launch, function, blocks, false);
}

std::optional<Flight> Context::board_locked(uint32_t launch, ContextFunction& function, uint64_t blocks, bool banks) {
    const auto counters = memory_->allocate(function.first_site, sites_of(function), blocks, banks);
    if (!counters) return std::nullopt;
    const auto slot = free_slot(*counters);
    if (!slot) {
        memory_->release(*counters);
        return std::nullopt;
    }
    slots_[*slot] = {launch, counters->log2_blocks};
    Flight flight;
    flight.launch = launch;
    flight.slot = *slot;
    flight.counters = *counters;
    flight.function = &function;
    flight.begin = std::chrono::steady_clock::now();
    return flight;
}

// One of those that tell what there is to tell: of time cells or of banks.
std::optional<uint16_t> Context::free_slot(const ProbeMemory::Counters& counters) {
    const bool timed = counters.time_cells != 0, banked = counters.bank_cells != 0;
    const uint32_t first = timed ? first_slot_of(counters.time_cells) : banked ? first_banked_slot(counters.bank_cells) : 0;
    const uint32_t count = timed || banked ? 1u << kLog2SlotsAlike : kBankedSlots;
    uint32_t& next = next_slot_[first];
    for (uint32_t tried = 0; tried < count; ++tried) {
        const uint32_t slot = first + next;
        next = (next + 1) % count;
        if (slots_[slot].launch == 0) return static_cast<uint16_t>(slot);
    }
    return std::nullopt;
}

std::optional<uint64_t> Context::take_launch_cell() {
    {
        std::unique_lock lock(mutex_);
        if (const std::optional<uint64_t> cell = memory_->take_launch_cell()) return cell;
    }
    code_->give_back_cells();
    std::unique_lock lock(mutex_);
    return memory_->take_launch_cell();
}

void Context::give_back_launch_cell(uint64_t cell) {
    std::unique_lock lock(mutex_);
    memory_->give_back_launch_cell(cell);
}

CUstream Context::side_stream() {
    std::call_once(side_stream_once_, [this] {
        const CurrentContext current(handle_);
        if (!succeeded(cuStreamCreate(&side_stream_, CU_STREAM_NON_BLOCKING))) side_stream_ = nullptr;
    });
    return side_stream_;
}

void Context::begin(Flight* flight, CUstream stream) {
    if (!clock_) return;
    const CUevent event = events_.take();
    flight->called = now_ns();
    if (event && succeeded(cuEventRecord(event, stream))) flight->start = event;
}

void Context::cancel(const Flight& flight) {
    std::unique_lock lock(mutex_);
    free_locked(flight);
}

bool Context::depart(Flight* flights, size_t count, CUstream stream) {
    const CUevent event = events_.take();
    if (!event || !succeeded(cuEventRecord(event, stream))) return false;
    const StreamKind kind = kind_of(stream);
    std::unique_lock lock(mutex_);
    std::deque<Flight>& queue = flights_[{stream, stream == CU_STREAM_PER_THREAD ? thread_id() : 0}];
    for (size_t i = 0; i < count; ++i) {
        flights[i].event = event;
        flights[i].kind = kind;
        flights[i].owns_event = i + 1 == count;
        queue.push_back(flights[i]);
    }
    return true;
}

// A stream's launches end in order: the last one tells.
bool Context::under_way(const ContextFunction& function, StreamKind first) const {
    std::unique_lock lock(mutex_);
    return std::any_of(flights_.begin(), flights_.end(), [&](const auto& stream) {
        const std::deque<Flight>& queue = stream.second;
        const auto last = std::find_if(queue.rbegin(), queue.rend(),
                                       [&](const Flight& flight) { return function.shares_code || flight.function == &function; });
        return last != queue.rend() && last->kind >= first && cuEventQuery(last->event) == CUDA_ERROR_NOT_READY;
    });
}

size_t Context::in_flight() const {
    std::unique_lock lock(mutex_);
    size_t count = 0;
    for (const auto& [stream, queue] : flights_) count += queue.size();
    return count;
}

std::vector<Flight> Context::landed(size_t limit, std::vector<Flight>* lost) {
    std::unique_lock lock(mutex_);
    std::vector<Flight> ended;
    for (auto stream = flights_.begin(); stream != flights_.end();) {
        std::deque<Flight>& queue = stream->second;
        CUevent asked = nullptr;
        CUresult result = CUDA_SUCCESS;
        while (!queue.empty() && ended.size() < limit) {
            if (queue.front().event != asked) result = cuEventQuery(asked = queue.front().event);
            if (result == CUDA_ERROR_NOT_READY) break;
            (succeeded(result) ? ended : *lost).push_back(queue.front());
            queue.pop_front();
        }
        stream = queue.empty() ? flights_.erase(stream) : std::next(stream);
    }
    collecting_ = !ended.empty();
    if (!some_come_back_locked()) comes_back_.notify_all();
    return ended;
}

std::optional<Span> Context::span(const Flight& flight) {
    Span span;
    if (!flight.start || !succeeded(clock_->span(flight.start, flight.event, flight.called, &span))) return std::nullopt;
    return span;
}

CUresult Context::span(const LaunchTimer::Timing& timing, Span* span) {
    return clock_->span(timing.start, timing.end, timing.called, span);
}

void Context::keep_time() {
    if (clock_) clock_->keep_up();
}

std::optional<Flight> Context::oldest() const {
    std::unique_lock lock(mutex_);
    const Flight* oldest = nullptr;
    for (const auto& [stream, queue] : flights_)
        if (!queue.empty() && (!oldest || queue.front().begin < oldest->begin)) oldest = &queue.front();
    return oldest ? std::optional(*oldest) : std::nullopt;
}

std::vector<Flight> Context::flights() const {
    std::unique_lock lock(mutex_);
    std::vector<Flight> flights;
    for (const auto& [stream, queue] : flights_) flights.insert(flights.end(), queue.begin(), queue.end());
    return flights;
}

void Context::disembark(const Flight& flight) {
    std::unique_lock lock(mutex_);
    if (flight.owns_event) events_.give_back(flight.event);
    free_locked(flight);
}

void Context::free_locked(const Flight& flight) {
    events_.give_back(flight.start);
    slots_[flight.slot] = {};
    waited_in_vain_ = false;
    memory_->release(flight.counters);
    ++came_back_;
    comes_back_.notify_all();
}

}  // namespace snoopie
