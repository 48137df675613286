#include "launches/wait_sums.h"

#include <algorithm>
#include <set>
#include <utility>

namespace snoopie {

std::vector<WaitGroup> wait_groups(const std::vector<Wait>& waits, const std::function<Polled(uint64_t)>& whose) {
    std::map<std::tuple<uint32_t, uint8_t, uint32_t>, std::pair<WaitGroup, std::set<uint64_t>>> groups;
    for (const Wait& wait : waits) {
        const Polled polled = whose(wait.address);
        auto& [group, blocks] = groups[{wait.site, polled.owner, polled.object}];
        group.polled = polled;
        if (group.warps++ == 0 || wait.end - wait.start > group.longest.end - group.longest.start) group.longest = wait;
        blocks.insert(wait.block);
        group.blocks = blocks.size();
        group.first_block = *blocks.begin();
    }
    std::vector<WaitGroup> found;
    for (const auto& [key, group] : groups) found.push_back(group.first);
    std::stable_sort(found.begin(), found.end(), [](const WaitGroup& a, const WaitGroup& b) {
        return a.longest.end - a.longest.start > b.longest.end - b.longest.start;
    });
    return found;
}

void WaitSums::add(const Wait& wait, const Polled& polled) {
    WaitRow row;
    row.site = wait.site;
    row.owner = polled.owner;
    row.object = polled.object;
    row.address = wait.address;
    row.waits = 1;
    row.given_up = wait.given_up ? 1 : 0;
    row.polls = wait.polls;
    row.first = wait.start;
    row.last = wait.end;
    row.waited = row.longest = wait.end - wait.start;
    // They come as they end, nearly: what comes late may be counted too short.
    uint64_t& until = held_until_[wait.block >> log2_held_];
    row.held = wait.end > until ? wait.end - std::max(wait.start, until) : 0;
    until = std::max(until, wait.end);
    const auto [known, is_new] = rows_.try_emplace({row.site, wait.block >> log2_blocks_, row.owner, row.object}, row);
    if (!is_new) merge(row, &known->second);
    while (rows_.size() > kMostRows && log2_blocks_ < 63) widen();
}

void WaitSums::merge(const WaitRow& from, WaitRow* to) {
    if (from.last >= to->last) to->address = from.address;
    to->waits += from.waits;
    to->given_up += from.given_up;
    to->polls += from.polls;
    to->first = std::min<u8>(to->first, from.first);
    to->last = std::max<u8>(to->last, from.last);
    to->waited += from.waited;
    to->held += from.held;
    to->longest = std::max<u8>(to->longest, from.longest);
}

void WaitSums::widen() {
    ++log2_blocks_;
    std::map<Key, WaitRow> wider;
    for (const auto& [key, row] : rows_) {
        const auto& [site, group, owner, object] = key;
        const auto [known, is_new] = wider.try_emplace({site, group >> 1, owner, object}, row);
        if (!is_new) merge(row, &known->second);
    }
    rows_ = std::move(wider);
}

std::vector<WaitRow> WaitSums::take(uint32_t launch) {
    std::vector<WaitRow> rows;
    for (auto& [key, row] : rows_) {
        row.launch = launch;
        row.block = std::get<1>(key) << log2_blocks_;
        row.blocks = u8{1} << log2_blocks_;
        rows.push_back(row);
    }
    rows_.clear();
    held_until_.clear();
    log2_blocks_ = 0;
    return rows;
}

}  // namespace snoopie
