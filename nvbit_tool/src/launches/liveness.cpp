#include "launches/liveness.h"

#include <algorithm>

namespace snoopie {

namespace {

constexpr size_t kMostAnswers = 256;
constexpr uint32_t kMostPatience = 64;

}  // namespace

const Liveness::Answer& Liveness::at_launch(const FunctionAddresses& addresses, const std::optional<std::string>& parameters,
                                            const WhereIs& where, uint64_t version) {
    if (!parameters || !trusted()) return unknown_;
    if (version != version_ || known_.size() >= kMostAnswers) known_.clear();
    version_ = version;
    const auto [entry, is_new] = known_.try_emplace(*parameters);
    if (!is_new) return entry->second;
    std::vector<bool> live;
    for (const Roots& roots : addresses.roots) live.push_back(may_leave(roots, *parameters, where));
    std::vector<uint32_t> dead;
    for (const FunctionAddresses::Site& site : addresses.sites)
        if (!live[site.roots]) dead.push_back(site.id);
    std::sort(dead.begin(), dead.end());
    entry->second.any_live = !addresses.all_known || dead.size() < addresses.sites.size();
    entry->second.dead = &*sets_.insert(std::move(dead)).first;
    return entry->second;
}

uint64_t Liveness::distrust() {
    trusted_ = false;
    return without_.exchange(0);
}

bool Liveness::shrinks(bool instrumented) {
    if (!instrumented) return true;
    if (++idle_ <= patience_) return false;
    patience_ = std::min(2 * patience_ + 1, kMostPatience);
    idle_ = 0;
    return true;
}

}  // namespace snoopie
