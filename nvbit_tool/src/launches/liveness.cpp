#include "launches/liveness.h"

#include <algorithm>
#include <iterator>

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
    if (is_new) entry->second = judge(addresses, *parameters, where_is());
    return entry->second;
}

Liveness::Answer Liveness::judge(const FunctionAddresses& addresses, const std::string& parameters, const WhereIs& where) {
    const std::vector<bool> live = may_leave(addresses.roots, parameters, where, addresses.paths);
    Answer answer;
    std::vector<uint32_t> dead;
    for (const FunctionAddresses::Site& site : addresses.sites)
        if (!live[site.roots]) dead.push_back(site.id);
    std::sort(dead.begin(), dead.end());
    answer.any_live = !addresses.all_known || dead.size() < addresses.sites.size();
    CallSet calls;
    for (const FunctionAddresses::Call& call : addresses.calls) {
        answer.any_live |= call.always;
        calls.push_back(call.always || !std::all_of(call.sites.begin(), call.sites.end(),
                                                    [&](uint32_t site) { return std::binary_search(dead.begin(), dead.end(), site); }));
    }
    if (std::find(calls.begin(), calls.end(), false) != calls.end()) answer.live = &*call_sets_.insert(std::move(calls)).first;
    answer.dead = &*dead_sets_.insert(std::move(dead)).first;
    return answer;
}

Liveness::Answer Liveness::united(const Answer& one, const Answer& other) {
    Answer both;
    both.any_live = one.any_live || other.any_live;
    if (one.dead && other.dead) {
        std::vector<uint32_t> dead;
        std::set_intersection(one.dead->begin(), one.dead->end(), other.dead->begin(), other.dead->end(), std::back_inserter(dead));
        both.dead = &*dead_sets_.insert(std::move(dead)).first;
    }
    if (one.live && other.live) both.live = united(*one.live, *other.live);
    return both;
}

void Liveness::put_in_graph(const FunctionAddresses& addresses, const std::optional<std::string>& parameters) {
    graphs_version_.reset();
    if (parameters && graph_parameters_.size() < kMostAnswers)
        graph_parameters_.try_emplace(addresses.looked_at(*parameters), *parameters);
    else
        graphs_unknown_ = true;
}

const Liveness::Answer& Liveness::in_graphs(const FunctionAddresses& addresses, const std::function<WhereIs()>& where_is,
                                            uint64_t version) {
    if (graphs_unknown_ || graph_parameters_.empty() || !trusted()) return unknown_;
    if (graphs_version_ == version) return graphs_;
    const WhereIs where = where_is();
    std::optional<Answer> all;
    for (const auto& [looked_at, parameters] : graph_parameters_) {
        const Answer one = judge(addresses, parameters, where);
        all = all ? united(*all, one) : one;
    }
    graphs_version_ = version;
    return graphs_ = *all;
}

const Liveness::Answer& Liveness::beside_graphs(const Answer& launch, const FunctionAddresses& addresses,
                                                const std::function<WhereIs()>& where_is, uint64_t version) {
    return beside_graphs_ = united(launch, in_graphs(addresses, where_is, version));
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
