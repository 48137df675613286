#include "memory/memory_use.h"

#include "base/clock.h"
#include "base/signals.h"

namespace snoopie {

MemoryUse::MemoryUse(TraceWriter* writer, size_t gpus, Ask ask, void (*on_thread)()) : writer_(writer), ask_(std::move(ask)), last_(gpus) {
    sample(true);
    thread_ = std::thread([this, on_thread] { run(on_thread); });
}

void MemoryUse::stop() {
    {
        std::unique_lock lock(mutex_);
        stopping_ = true;
        wake_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
}

void MemoryUse::run(void (*on_thread)()) {
    // The application's signals are not for this thread.
    block_all_signals();
    on_thread();
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(kMilliseconds), [this] { return stopping_; })) {
        lock.unlock();
        writer_->guard([this] { sample(false); });
        lock.lock();
    }
    writer_->guard([this] { sample(true); });
}

void MemoryUse::sample(bool all) {
    for (size_t gpu = 0; gpu < last_.size(); ++gpu) {
        const UsedBytes bytes = ask_(gpu);
        Last& last = last_[gpu];
        const MemoryUseRow row{now_ns(), static_cast<u1>(gpu), bytes.by_all, bytes.by_this_process, pools_[gpu].reserved, pools_[gpu].used};
        const auto now = std::chrono::steady_clock::now();
        const bool same = row.used == last.row.used && row.own == last.row.own && row.pool_reserved == last.row.pool_reserved &&
                          row.pool_used == last.row.pool_used;
        if (same && !all && now - last.written < std::chrono::milliseconds(kUnchangedMilliseconds)) continue;
        writer_->append(row);
        last = {row, now};
    }
}

}  // namespace snoopie
