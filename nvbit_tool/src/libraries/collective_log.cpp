#include "libraries/collective_log.h"

namespace snoopie {

void CollectiveLog::add(const std::vector<Collective>& calls) {
    std::unique_lock lock(mutex_);
    for (const Collective& call : calls) {
        const std::pair<uint64_t, int> key{call.communicator.id, call.communicator.rank};
        if (last_.size() >= kMostCommunicators && last_.count(key) == 0) continue;
        HangCollective& last = last_[key];
        // Of a call of which no more is known, the elements are bytes.
        const bool typed = call.type != kUnknownType;
        last = {call.operation,
                typed ? collective_type(call.type) : "bytes",
                typed ? call.count : call.message.value_or(0),
                call.communicator.id,
                last.sequence + 1,
                call.communicator.rank,
                call.communicator.ranks,
                call.peer};
        groups_[call.group].push_back(last);
    }
    while (groups_.size() > kMostGroups) groups_.erase(groups_.begin());
}

std::vector<HangCollective> CollectiveLog::of_group(uint32_t group) const {
    std::unique_lock lock(mutex_);
    const auto found = groups_.find(group);
    return found == groups_.end() ? std::vector<HangCollective>() : found->second;
}

std::vector<HangCollective> CollectiveLog::last() const {
    std::unique_lock lock(mutex_);
    std::vector<HangCollective> calls;
    for (const auto& [key, call] : last_) calls.push_back(call);
    return calls;
}

}  // namespace snoopie
