#include "launches/stream_cells.h"

#include <algorithm>
#include <utility>

#include "launches/context.h"

namespace snoopie {

std::optional<uint64_t> StreamCells::cell(const ContextFunction& function, CUstream stream) {
    unsigned long long id = 0;
    if (!succeeded(cuStreamGetId(stream, &id))) return std::nullopt;
    {
        const std::unique_lock lock(mutex_);
        if (const auto known = cells_.find(id); known != cells_.end())
            if (const auto own = known->second.find(&function); own != known->second.end()) return own->second;
    }
    // No other thread asks for this function.
    const std::optional<uint64_t> taken = context_->take_launch_cell();
    const std::unique_lock lock(mutex_);
    if (taken) cells_[id].emplace(&function, *taken);
    return taken;
}

void StreamCells::ending(CUstream stream) {
    unsigned long long id = 0;
    if (!succeeded(cuStreamGetId(stream, &id))) return;
    std::unique_lock lock(mutex_);
    const auto own = cells_.extract(id);
    lock.unlock();
    if (own.empty()) return;
    // Without an event nobody knows when they are free: nobody gets them.
    const CUevent event = context_->events().take();
    if (!event || !succeeded(cuEventRecord(event, stream))) return;
    std::vector<uint64_t> cells;
    for (const auto& [function, cell] : own.mapped()) cells.push_back(cell);
    ended(event, std::move(cells));
}

void StreamCells::ended(CUevent behind, std::vector<uint64_t> cells) {
    const std::unique_lock lock(mutex_);
    ended_.push_back({behind, std::move(cells)});
}

void StreamCells::give_back_ended() {
    const std::unique_lock lock(mutex_);
    const auto has_run = [this](const Ended& ended) {
        if (cuEventQuery(ended.event) != CUDA_SUCCESS) return false;
        for (const uint64_t cell : ended.cells) context_->give_back_launch_cell(cell);
        context_->events().give_back(ended.event);
        return true;
    };
    ended_.erase(std::remove_if(ended_.begin(), ended_.end(), has_run), ended_.end());
}

}  // namespace snoopie
