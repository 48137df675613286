#include "launches/drain.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "base/attempt.h"
#include "base/signals.h"
#include "launches/moments.h"

namespace snoopie {

namespace {

constexpr size_t kRowsAtOnce = 4096;
constexpr size_t kFlightsAtOnce = 256;
constexpr size_t kTimesAtOnce = 4096;
constexpr uint64_t kUnitsAtOnce = 1 << 16;  // of a GPU that makes records as fast as they are taken, before the others have their turn
constexpr auto kTimesPause = std::chrono::milliseconds(2);
constexpr auto kBusyPause = std::chrono::microseconds(200);
constexpr auto kIdlePause = std::chrono::milliseconds(100);
constexpr auto kLeavePatience = std::chrono::seconds(1);
constexpr auto kStampPatience = std::chrono::seconds(5);

}  // namespace

Drain::Drain(TraceWriter* writer, Catalog* catalog, void (*on_thread)(), std::chrono::seconds patience, OnStall on_stall,
             OnContradiction on_contradiction, WhosePolled whose)
    : writer_(writer),
      catalog_(catalog),
      on_thread_(on_thread),
      patience_(patience),
      on_stall_(std::move(on_stall)),
      on_contradiction_(std::move(on_contradiction)),
      whose_polled_(std::move(whose)),
      record_writer_(writer) {
    thread_ = std::thread([this] { run(); });
}

void Drain::add(Context* context) {
    std::unique_lock lock(mutex_);
    members_.push_back(std::make_unique<Member>());
    members_.back()->context = context;
    members_.back()->closed = stopping_;
}

void Drain::wake() {
    std::unique_lock lock(mutex_);
    woken_ = true;
    wake_.notify_one();
}

void Drain::close(Context* context) {
    std::unique_lock lock(mutex_);
    for (const auto& member : members_) {
        if (member->context != context) continue;
        if (!member->closing) member->deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kCloseMilliseconds);
        member->closing = true;
        wake_.notify_one();
        closed_.wait(lock, [&] { return member->closed; });
    }
}

void Drain::stop() {
    std::vector<Context*> contexts;
    {
        std::unique_lock lock(mutex_);
        for (const auto& member : members_) contexts.push_back(member->context);
    }
    for (Context* context : contexts) close(context);
    {
        std::unique_lock lock(mutex_);
        stopping_ = true;
        wake_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
}

void Drain::leave() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
    closed_.wait_for(lock, kLeavePatience,
                     [&] { return std::all_of(members_.begin(), members_.end(), [](const auto& member) { return member->closed; }); });
}

void Drain::run() {
    block_all_signals();
    on_thread_();
    const OwnCalls own;

    std::unique_lock lock(mutex_);
    while (true) {
        bool busy = false;
        bool closing = false;
        // Members are only ever added, so indices stay valid while the lock is away.
        for (size_t i = 0; i < members_.size(); ++i) {
            Member& member = *members_[i];
            if (member.closed) continue;
            const bool last = member.closing;
            lock.unlock();
            bool more = false;
            // Where memory is missing, the next time around may find it.
            writer_->guard([&] {
                more = serve(member, last);
                if (more) watch(member);
            });
            lock.lock();
            busy |= more;
            closing |= member.closing;
            // Nobody waits for kernels beyond the deadline, but what those have left that ended before is taken, however many they are.
            if (last && (!more || (std::chrono::steady_clock::now() > member.deadline && !member.more_ended))) {
                if (more) writer_->guard([&] { abandon(member); });
                member.closed = true;
                closed_.notify_all();
            }
        }
        if (looks_done_ != looks_wanted_ && !stopping_) {
            const uint64_t wanted = looks_wanted_;
            lock.unlock();
            Look look;
            attempt([&] { look = look_now(); });
            lock.lock();
            latest_look_ = std::move(look);
            looks_done_ = wanted;
            looked_.notify_all();
        }
        if (stopping_) break;
        woken_ = false;
        if (busy || closing) {
            wake_.wait_for(lock, kBusyPause);
        } else {
            wake_.wait_for(lock, kIdlePause, [this] { return woken_ || stopping_; });
        }
    }
    // Nobody must wait for a context that came while the others were closed.
    for (const auto& member : members_) member->closed = true;
    closed_.notify_all();
}

// Returns whether launches are still under way.
bool Drain::serve(Member& member, bool last) {
    Context& context = *member.context;
    if (!context.memory()) return false;
    const CurrentContext current(context.handle());

    take_records(member, std::numeric_limits<uint64_t>::max());
    take_times(member, last);
    const auto under_way = [&context] { return context.in_flight() > 0 || (context.timer() && context.timer()->busy()); };

    std::vector<Flight> lost;
    const std::vector<Flight> ended = context.landed(kFlightsAtOnce, &lost);
    member.more_ended = ended.size() == kFlightsAtOnce;
    // Their kernels may run still: slot and counters are never used again.
    for (const Flight& flight : lost) member.waits.erase(flight.slot);
    lost_ += lost.size();
    if (ended.empty()) return under_way();

    // Every record of the launches that ended lies before this tail.
    const auto progress = context.memory()->read_progress();
    if (progress) {
        take_records(member, progress->tail);
        dropped_ += progress->dropped - member.dropped;
        member.dropped = progress->dropped;
        misdirected_ += progress->misdirected - member.misdirected;
        member.misdirected = progress->misdirected;
        waits_dropped_ += progress->waits_dropped - member.waits_dropped;
        member.waits_dropped = progress->waits_dropped;
    }
    give_up_waits(member, ended);
    context.keep_time();
    std::vector<SpanRow> spans;
    std::vector<ProbeMemory::Counters> counters;
    for (const Flight& flight : ended) {
        if (const auto span = context.span(flight)) spans.push_back({flight.launch, span->start, span->end});
        counters.push_back(flight.counters);
    }
    for (size_t next = 0; progress && next < ended.size();) {
        const size_t first = next;
        next += context.memory()->collect(&counters[first], ended.size() - first, &values_);
        if (values_.empty()) {
            lost_ += next - first;
            continue;
        }
        uint64_t* values = values_.data();
        for (size_t i = first; i < next; ++i) values = land(member, ended[i], values);
    }
    // Counters that could not be copied, or not zeroed, are never used again.
    if (!progress) lost_ += ended.size();
    writer_->append(spans);
    writer_->set_dropped(dropped_);
    return under_way();
}

// Returns the values of the next launch.
uint64_t* Drain::land(Member& member, const Flight& flight, uint64_t* values) {
    Context& context = *member.context;
    uint64_t* const end = values + flight.counters.size * kCounters;
    uint64_t& taken = member.taken[flight.slot];
    const uint64_t accesses = write_counts(context, flight, values, end);
    if (context.memory()->records_all() && accesses > taken) dropped_ += accesses - taken;
    ++measured_;
    taken = 0;
    write_waits(member, flight);
    context.disembark(flight);
    return end;
}

void Drain::take_times(Member& member, bool last) {
    Context& context = *member.context;
    LaunchTimer* const timer = context.timer();
    if (!timer || !timer->busy()) return;
    // Nothing waits for them: many at a time hold up those less who launch.
    const auto now = std::chrono::steady_clock::now();
    if (!last && now < member.next_times) return;
    member.next_times = now + kTimesPause;
    context.keep_time();
    std::vector<SpanRow> spans;
    std::vector<UnmeasuredRow> unmeasured;
    timer->give_back(timer->landed(kTimesAtOnce, [&](const LaunchTimer::Timing& timing) {
        Span span;
        const CUresult result = context.span(timing, &span);
        if (result == CUDA_ERROR_NOT_READY) return false;
        // After an error of the context every call fails: then all have ended.
        if (!succeeded(result)) return true;
        if (timing.launch) {
            spans.push_back({timing.launch, span.start, span.end});
        } else {
            unmeasured.push_back(timing.row);
            unmeasured.back().start = span.start;
            unmeasured.back().end = span.end;
        }
        return true;
    }));
    writer_->append(spans);
    writer_->append(unmeasured);
}

// A kernel that waits for another can run long; what it counts tells whether it moves on.
void Drain::watch(Member& member) {
    if (patience_.count() == 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < member.next_look) return;
    member.next_look = now + std::min<std::chrono::steady_clock::duration>(patience_ / 2, std::chrono::seconds(10));
    const std::optional<Flight> oldest = member.context->oldest();
    if (!oldest || now - oldest->begin < patience_) return;
    const CurrentContext current(member.context->handle());
    if (!member.context->memory()->peek(oldest->counters, &values_)) return;
    // What polls is no progress.
    uint64_t sum = 0;
    const size_t of_site = oldest->counters.cells_of_site() * kCounters;
    for (size_t i = 0; (i + 1) * of_site <= values_.size(); ++i)
        if (!catalog_->polls(oldest->counters.first_site + static_cast<uint32_t>(i)))
            sum = std::accumulate(values_.begin() + static_cast<ptrdiff_t>(i * of_site),
                                  values_.begin() + static_cast<ptrdiff_t>((i + 1) * of_site), sum);
    if (member.watched != oldest->launch || member.sum != sum) {
        member.watched = oldest->launch;
        member.sum = sum;
        member.since = now;
        member.told = false;
        return;
    }
    if (member.told || now - member.since < patience_) return;
    member.told = true;
    on_stall_(*member.context, *oldest, std::chrono::duration_cast<std::chrono::seconds>(now - member.since));
}

// Takes what is finished; when `until` is a place, waits for every record before it (their warps are past the reservation, so the wait is
// short unless the GPU has failed).
void Drain::take_records(Member& member, uint64_t until) {
    Context& context = *member.context;
    RecordRing* ring = context.memory()->ring();
    if (!ring) return;
    const bool complete = until != std::numeric_limits<uint64_t>::max();
    const auto patience = std::chrono::steady_clock::now() + kStampPatience;
    RawRecord record;
    const uint64_t limit = complete ? until : ring->head() + kUnitsAtOnce;
    while (ring->head() < limit) {
        if (ring->take(&record)) {
            append(member, record);
            continue;
        }
        flush_records(context);
        if (!complete || std::chrono::steady_clock::now() > patience) return;
    }
    flush_records(context);
}

void Drain::append(Member& member, const RawRecord& record) {
    Context& context = *member.context;
    const RecordHead& head = record.head;
    if (head.shape == RecordShape::wait) return append_wait(member, head);
    ++member.taken[head.slot];
    const Access access{context.launch_in(head.slot),
                        head.site,
                        context.gpu(),
                        context.memory()->slots().owner(head.owner),
                        head.mask,
                        head.time,
                        head.block,
                        head.warp,
                        static_cast<u2>(head.sm + 1)};
    switch (head.shape) {
        case RecordShape::strided:
            record_writer_.strided(access, head.base, head.stride);
            break;
        case RecordShape::scattered:
            record_writer_.scattered(access, record.addresses);
            break;
        case RecordShape::bulk:
            record_writer_.bulk(access, head.base, static_cast<u8>(head.stride));
            break;
        case RecordShape::wait:
            break;
    }
    if (record_writer_.pending() >= kRowsAtOnce) flush_records(context);
}

// --- A look at what is under way ---

std::optional<Drain::Look> Drain::look(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    const uint64_t wanted = ++looks_wanted_;
    woken_ = true;
    wake_.notify_one();
    if (!looked_.wait_for(lock, patience, [&] { return looks_done_ >= wanted; })) return std::nullopt;
    return latest_look_;
}

Drain::Look Drain::look_now() {
    Look look;
    look.stores = stores_;
    std::vector<Context*> contexts;
    {
        std::unique_lock lock(mutex_);
        for (const auto& member : members_)
            if (!member->closed) contexts.push_back(member->context);
    }
    std::vector<uint64_t> values;
    for (Context* context : contexts) {
        if (!context->memory()) continue;
        const CurrentContext current(context->handle());
        const size_t first = look.running.size();
        for (const Flight& flight : context->flights()) {
            look.running.push_back({context->gpu(), flight, {}});
            if (context->memory()->peek(flight.counters, &values)) add_stores(*context, flight, &values, &look.stores);
        }
        for (const WaitSlot& one : context->memory()->read_waits()) {
            if (one.key == 0) continue;
            for (size_t i = first; i < look.running.size(); ++i)
                if (look.running[i].flight.slot == wait_slot_of(one.key))
                    look.running[i].waits.push_back(
                        {wait_site_of(one.key), one.block, one.address, one.start, std::max(one.start, one.last), one.polls, false});
        }
    }
    return look;
}

// Of a launch that has not ended.
void Drain::add_stores(Context& context, const Flight& flight, std::vector<uint64_t>* values, StoreSums* stores) {
    const SlotTable& slots = context.memory()->slots();
    const std::vector<SlotTable::Target> targets = slots.targets(flight.counters.boarding);
    const size_t of_site = flight.counters.cells_of_site() * kCounters;
    uint32_t site = flight.counters.first_site;
    for (uint64_t* values_of = values->data(); values_of < values->data() + values->size(); ++site, values_of += of_site) {
        fold_untold(targets, slots.owners(), values_of);
        if (!catalog_->writes(site)) continue;
        for (size_t slot = 0; slot < targets.size(); ++slot)
            if (const uint64_t accesses = values_of[slot * kCounters + kAccesses])
                stores->add({site, context.gpu(), targets[slot].owner, targets[slot].object, accesses});
    }
}

// --- Waits ---

void Drain::append_wait(Member& member, const RecordHead& head) {
    const auto length = static_cast<uint64_t>(head.stride);
    const Wait wait{head.site, head.block, head.base, head.time - length, head.time, polls_of(head.mask), is_given_up(head.mask)};
    add_wait(member, head.slot, wait);
}

void Drain::add_wait(Member& member, uint16_t slot, const Wait& wait) {
    const auto [sums, is_new] = member.waits.try_emplace(slot, member.context->log2_blocks_in(slot));
    sums->second.add(wait, whose_polled_(wait.address));
}

void Drain::give_up_waits(Member& member, const std::vector<Flight>& flights) {
    ProbeMemory& memory = *member.context->memory();
    if (!memory.records_waits()) return;
    std::unordered_set<uint16_t> slots;
    for (const Flight& flight : flights) slots.insert(flight.slot);
    const std::vector<WaitSlot>& waits = memory.read_waits();
    for (size_t i = 0; i < waits.size(); ++i) {
        const WaitSlot& one = waits[i];
        if (one.key == 0 || slots.count(wait_slot_of(one.key)) == 0) continue;
        const Wait wait{wait_site_of(one.key), one.block, one.address, one.start, std::max(one.start, one.last), one.polls, true};
        add_wait(member, wait_slot_of(one.key), wait);
        memory.clear_wait(i);
    }
}

void Drain::write_waits(Member& member, const Flight& flight) {
    const auto found = member.waits.find(flight.slot);
    if (found == member.waits.end()) return;
    writer_->append(found->second.take(flight.launch));
    member.waits.erase(found);
}

// Its launches still run, and nobody waits for them any longer.
void Drain::abandon(Member& member) {
    lost_ += member.context->in_flight();
    write_open_waits(member);
}

void Drain::write_open_waits(Member& member) {
    if (!member.context->memory()) return;
    const CurrentContext current(member.context->handle());
    const std::vector<Flight> flights = member.context->flights();
    give_up_waits(member, flights);
    for (const Flight& flight : flights) write_waits(member, flight);
}

void Drain::write_open_waits() {
    std::unique_lock lock(mutex_);
    for (const auto& member : members_)
        if (!member->closed) write_open_waits(*member);
}

// Hands the records that were taken to the trace, and their room back to the GPU.
void Drain::flush_records(Context& context) {
    records_ += record_writer_.pending();
    record_writer_.flush();
    context.memory()->ring()->publish();
}

// Returns how many accesses were measured.
uint64_t Drain::write_counts(Context& context, const Flight& flight, uint64_t* values, const uint64_t* end) {
    std::vector<CountRow> rows;
    std::vector<MoveRow> moves;
    std::vector<uint32_t> reached;
    uint64_t measured = 0;
    const SlotTable& slots = context.memory()->slots();
    // No slot that this launch counted in stands for another object by now: it has not landed yet.
    const std::vector<SlotTable::Target> targets = slots.targets(flight.counters.boarding);
    const size_t of_site = flight.counters.cells_of_site() * kCounters;
    uint32_t site = flight.counters.first_site;
    for (uint64_t* values_of = values; values_of < end; ++site, values_of += of_site) {
        fold_untold(targets, slots.owners(), values_of);
        const bool dead = flight.dead && std::binary_search(flight.dead->begin(), flight.dead->end(), site);
        const uint64_t* counters = values_of;
        for (size_t slot = 0; slot < targets.size(); ++slot, counters += kCounters) {
            const uint64_t accesses = counters[kAccesses];
            if (accesses == 0) continue;
            if (dead) on_contradiction_(context, flight, site);
            const SlotTable::Target& target = targets[slot];
            const uint64_t units = units_of(counters, catalog_->full_units(site));
            rows.push_back({flight.launch, site, target.owner, accesses, lanes_of(counters), units, target.object});
            // A site that is not measured has no wire units: it only ran.
            if (units) {
                if (catalog_->writes(site)) stores_.add({site, context.gpu(), target.owner, target.object, accesses});
                measured += accesses;
                reached.push_back(site);
            } else {
                unmeasured_ += accesses;
            }
            if (units && target.owner == kOwnerUnknown) unresolved_ += accesses;
        }
        add_moves(flight.launch, site, counters, flight.counters.time_cells, flight.counters.log2_blocks, &moves);
    }
    accesses_ += measured;
    writer_->append(rows);
    writer_->append(moves);
    catalog_->reached(reached);
    return measured;
}

}  // namespace snoopie
