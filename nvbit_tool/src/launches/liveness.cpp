#include "launches/liveness.h"

#include <algorithm>

namespace snoopie {

namespace {

constexpr size_t kMostAnswers = 256;
constexpr uint32_t kMostPatience = 64;

}  // namespace

const Liveness::Answer& Liveness::at_launch(const FunctionAddresses& addresses, const std::optional<std::string>& parameters,
                                            const std::function<WhereIs()>& where_is, uint64_t version) {
    if (!parameters || !trusted()) return unknown_;
    if (version != version_ || known_.size() >= kMostAnswers) known_.clear();
    version_ = version;
    const auto [entry, is_new] = known_.try_emplace(addresses.looked_at(*parameters));
    if (!is_new) return entry->second;
    const std::vector<bool> live = may_leave(addresses.roots, *parameters, where_is(), addresses.paths);
    std::vector<uint32_t> dead;
    for (const FunctionAddresses::Site& site : addresses.sites)
        if (!live[site.roots]) dead.push_back(site.id);
    std::sort(dead.begin(), dead.end());
    entry->second.any_live = !addresses.all_known || dead.size() < addresses.sites.size();
    CallSet calls;
    for (const FunctionAddresses::Call& call : addresses.calls) {
        entry->second.any_live |= call.always;
        calls.push_back(call.always || !std::all_of(call.sites.begin(), call.sites.end(),
                                                    [&](uint32_t site) { return std::binary_search(dead.begin(), dead.end(), site); }));
    }
    if (std::find(calls.begin(), calls.end(), false) != calls.end()) entry->second.live = &*call_sets_.insert(std::move(calls)).first;
    entry->second.dead = &*dead_sets_.insert(std::move(dead)).first;
    return entry->second;
}

Liveness::Without Liveness::distrust() {
    trusted_ = false;
    return {without_any_.exchange(0), without_some_.exchange(0)};
}

bool Liveness::shrinks() {
    if (++idle_ <= patience_) return false;
    idle_ = 0;
    shrunk_ = true;
    return true;
}

void Liveness::grows() {
    if (shrunk_) patience_ = std::min(2 * patience_ + 1, kMostPatience);
    shrunk_ = false;
    idle_ = 0;
}

const CallSet* Liveness::united(const CallSet& one, const CallSet& other) {
    CallSet both = one;
    for (size_t i = 0; i < both.size(); ++i) both[i] = both[i] || other[i];
    return &*call_sets_.insert(std::move(both)).first;
}

}  // namespace snoopie
