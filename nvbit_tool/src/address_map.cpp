#include "address_map.h"

#include <algorithm>

namespace snoopie {

namespace {

// Appends a page to the ranges, joining neighbours of one owner.
void append(std::vector<PageRange>* ranges, uint64_t page, std::optional<uint8_t> owner) {
    if (!ranges->empty()) {
        PageRange& last = ranges->back();
        if (last.first + last.count == page && last.owner == owner) {
            ++last.count;
            return;
        }
    }
    ranges->push_back({page, 1, owner});
}

}  // namespace

Object AddressMap::add(Object object, std::vector<PageRange>* changed) {
    std::unique_lock lock(mutex_);
    object.id = ++last_id_;
    by_address_[object.address] = object;
    ++live_[object.owner];
    change_pages(object.address, object.bytes, changed, [&](Holders& holders) {
        holders.erase(std::remove_if(holders.begin(), holders.end(), [](const Holder& h) { return h.freed; }), holders.end());
        holders.push_back({object.id, object.owner, false});
    });
    return object;
}

std::optional<Object> AddressMap::begin_free(uint64_t address) {
    std::unique_lock lock(mutex_);
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) return std::nullopt;
    const Object object = found->second;
    by_address_.erase(found);
    return object;
}

std::vector<Object> AddressMap::begin_free_range(uint64_t address, uint64_t bytes) {
    std::unique_lock lock(mutex_);
    std::vector<Object> objects;
    auto entry = by_address_.lower_bound(address);
    while (entry != by_address_.end() && entry->first - address < bytes) {
        objects.push_back(entry->second);
        entry = by_address_.erase(entry);
    }
    return objects;
}

void AddressMap::end_free(const Object& object, Freed freed, std::vector<PageRange>* changed) {
    std::unique_lock lock(mutex_);
    switch (freed) {
        case Freed::failed:
            by_address_.try_emplace(object.address, object);
            return;
        case Freed::now:
            release(object, changed);
            return;
        case Freed::in_stream_order:
            change_pages(object.address, object.bytes, changed, [&](Holders& holders) {
                for (Holder& holder : holders) holder.freed |= holder.object == object.id;
            });
            return;
    }
}

std::vector<Object> AddressMap::end_context(uint64_t context, std::vector<PageRange>* changed) {
    std::unique_lock lock(mutex_);
    std::vector<Object> ended;
    for (auto entry = by_address_.begin(); entry != by_address_.end();) {
        if (entry->second.context != context) {
            ++entry;
            continue;
        }
        ended.push_back(entry->second);
        release(entry->second, changed);
        entry = by_address_.erase(entry);
    }
    return ended;
}

void AddressMap::move_managed(uint64_t address, uint64_t bytes, uint8_t owner, std::vector<PageRange>* changed) {
    for (const Object& object : objects_in(address, bytes)) {
        if (object.kind != ObjectKind::managed) continue;
        std::unique_lock lock(mutex_);
        ++live_[owner];
        const uint64_t first = std::max(address, object.address);
        const uint64_t end = std::min(address + bytes, object.address + object.bytes);
        change_pages(first, end - first, changed, [&](Holders& holders) {
            for (Holder& holder : holders)
                if (holder.object == object.id) holder.owner = owner;
        });
    }
}

void AddressMap::release(const Object& object, std::vector<PageRange>* changed) {
    --live_[object.owner];
    change_pages(object.address, object.bytes, changed, [&](Holders& holders) {
        holders.erase(std::remove_if(holders.begin(), holders.end(), [&](const Holder& h) { return h.object == object.id; }),
                      holders.end());
    });
}

template <class Change>
void AddressMap::change_pages(uint64_t address, uint64_t bytes, std::vector<PageRange>* changed, Change change) {
    if (bytes == 0 || address >> kAddressBits) return;
    const uint64_t last_address = std::min<uint64_t>(address + bytes - 1, (1ull << kAddressBits) - 1);
    for (uint64_t page = address >> kPageBits; page <= last_address >> kPageBits; ++page) {
        Holders& holders = by_page_[page];
        const auto owner = [&]() -> std::optional<uint8_t> {
            if (holders.empty()) return std::nullopt;
            return holders.back().owner;
        };
        const auto before = owner();
        change(holders);
        const auto after = owner();
        if (before != after) append(changed, page, after);
        if (holders.empty()) by_page_.erase(page);
    }
}

uint32_t AddressMap::new_id() {
    std::unique_lock lock(mutex_);
    return ++last_id_;
}

std::optional<uint8_t> AddressMap::owner_of(uint64_t address) const {
    std::unique_lock lock(mutex_);
    const auto found = by_page_.find(address >> kPageBits);
    if (found == by_page_.end()) return std::nullopt;
    return found->second.back().owner;
}

std::vector<Object> AddressMap::objects_in(uint64_t address, uint64_t bytes) const {
    std::unique_lock lock(mutex_);
    std::vector<Object> objects;
    auto entry = by_address_.upper_bound(address);
    if (entry != by_address_.begin() && address - std::prev(entry)->first < std::prev(entry)->second.bytes) --entry;
    for (; entry != by_address_.end() && (entry->first < address || entry->first - address < bytes); ++entry)
        objects.push_back(entry->second);
    return objects;
}

bool AddressMap::any_of(uint8_t owner) const {
    std::unique_lock lock(mutex_);
    const auto found = live_.find(owner);
    return found != live_.end() && found->second > 0;
}

std::vector<PageRange> AddressMap::pages() const {
    std::unique_lock lock(mutex_);
    std::vector<uint64_t> keys;
    for (const auto& entry : by_page_) keys.push_back(entry.first);
    std::sort(keys.begin(), keys.end());
    std::vector<PageRange> ranges;
    for (const uint64_t page : keys) append(&ranges, page, by_page_.at(page).back().owner);
    return ranges;
}

}  // namespace snoopie
