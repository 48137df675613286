#include "memory/address_map.h"

#include <algorithm>
#include <iterator>

namespace snoopie {

namespace {

// Appends a page to the ranges, joining neighbours that are one's.
void append(std::vector<PageRange>* ranges, const PageRange& page) {
    if (!ranges->empty()) {
        PageRange& last = ranges->back();
        if (last.first + last.count == page.first && last.owner == page.owner && last.object == page.object) {
            last.count += page.count;
            return;
        }
    }
    ranges->push_back(page);
}

}  // namespace

Object AddressMap::add(Object object, MapChanges* changed) {
    std::unique_lock lock(mutex_);
    ++version_;
    object.id = ++last_id_;
    by_address_[object.address] = object;
    ++live_[object.owner];
    take_over(object, changed);
    change_pages(pages_of(object.address, object.bytes), changed, [&](Holders& holders) {
        holders.erase(std::remove_if(holders.begin(), holders.end(), [](const Holder& h) { return h.freed; }), holders.end());
        holders.push_back({object.id, object.owner, false});
    });
    return object;
}

std::optional<Object> AddressMap::begin_free(uint64_t address) {
    std::unique_lock lock(mutex_);
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) return std::nullopt;
    ++version_;
    const Object object = found->second;
    by_address_.erase(found);
    return object;
}

std::vector<Object> AddressMap::begin_free_range(uint64_t address, uint64_t bytes) {
    std::unique_lock lock(mutex_);
    ++version_;
    std::vector<Object> objects;
    auto entry = by_address_.lower_bound(address);
    while (entry != by_address_.end() && entry->first - address < bytes) {
        objects.push_back(entry->second);
        entry = by_address_.erase(entry);
    }
    return objects;
}

void AddressMap::end_free(const Object& object, Freed freed, MapChanges* changed) {
    std::unique_lock lock(mutex_);
    ++version_;
    switch (freed) {
        case Freed::failed:
            by_address_.try_emplace(object.address, object);
            return;
        case Freed::now:
            release(object, changed);
            return;
        case Freed::in_stream_order:
            change_pages(pages_of(object.address, object.bytes), changed, [&](Holders& holders) {
                for (Holder& holder : holders) holder.freed |= holder.object == object.id;
            });
            return;
    }
}

std::vector<Object> AddressMap::end_context(uint64_t context, MapChanges* changed) {
    std::unique_lock lock(mutex_);
    ++version_;
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

void AddressMap::move_managed(uint64_t address, uint64_t bytes, uint8_t owner, MapChanges* changed) {
    for (const Object& object : objects_in(address, bytes)) {
        if (object.kind != ObjectKind::managed) continue;
        std::unique_lock lock(mutex_);
        ++live_[owner];
        const uint64_t first = std::max(address, object.address);
        const uint64_t end = std::min(address + bytes, object.address + object.bytes);
        change_pages(pages_of(first, end - first), changed, [&](Holders& holders) {
            for (Holder& holder : holders)
                if (holder.object == object.id) holder.owner = owner;
        });
    }
}

void AddressMap::release(const Object& object, MapChanges* changed) {
    --live_[object.owner];
    change_pages(pages_of(object.address, object.bytes), changed, [&](Holders& holders) {
        holders.erase(std::remove_if(holders.begin(), holders.end(), [&](const Holder& h) { return h.object == object.id; }),
                      holders.end());
    });
    if (own_.erase(object.id)) changed->disowned.push_back(object.id);
}

void AddressMap::take_over(const Object& object, MapChanges* changed) {
    const Pages pages = pages_of(object.address, object.bytes);
    bool alone = true;
    for (uint64_t page = pages.first; page < pages.end; ++page) {
        const auto found = by_page_.find(page);
        if (found == by_page_.end()) continue;
        for (const Holder& holder : found->second) {
            alone &= holder.freed;
            disown(holder.object, changed);
        }
    }
    if (alone && pages.first < pages.end) own_[object.id] = pages;
}

void AddressMap::disown(uint32_t object, MapChanges* changed) {
    const auto found = own_.find(object);
    if (found == own_.end()) return;
    const Pages pages = found->second;
    own_.erase(found);
    changed->disowned.push_back(object);
    for (uint64_t page = pages.first; page < pages.end; ++page) {
        const auto held = by_page_.find(page);
        // Of one that was freed in stream order, others may have taken some.
        if (held != by_page_.end() && held->second.back().object == object)
            append(&changed->pages, {page, 1, held->second.back().owner, 0});
    }
}

void AddressMap::reserve(uint64_t address, uint64_t bytes) {
    std::unique_lock lock(mutex_);
    ++version_;
    reservations_[address] = bytes;
}

void AddressMap::unreserve(uint64_t address) {
    std::unique_lock lock(mutex_);
    ++version_;
    reservations_.erase(address);
}

const Object* AddressMap::object_at(uint64_t address) const {
    auto found = by_address_.upper_bound(address);
    if (found == by_address_.begin()) return nullptr;
    const Object& object = (--found)->second;
    return address - object.address < object.bytes ? &object : nullptr;
}

std::optional<uint8_t> AddressMap::owner_of_reserved(uint64_t address, uint64_t bytes) const {
    std::optional<uint8_t> owner;
    for (auto object = by_address_.lower_bound(address); object != by_address_.end() && object->first - address < bytes; ++object) {
        if (object->second.kind == ObjectKind::managed || (owner && *owner != object->second.owner)) return std::nullopt;
        owner = object->second.owner;
    }
    return owner;
}

std::optional<uint8_t> AddressMap::sole_owner(const Object& object, Reserved* known) const {
    if (object.kind == ObjectKind::managed) return std::nullopt;
    const auto after = reservations_.upper_bound(object.address);
    if (after == reservations_.begin() || object.address - std::prev(after)->first >= std::prev(after)->second) {
        if (object.kind == ObjectKind::mapping) return std::nullopt;
        return object.owner;
    }
    const auto [address, bytes] = *std::prev(after);
    const auto [reserved, is_new] = known->try_emplace(address);
    if (is_new) reserved->second = owner_of_reserved(address, bytes);
    return reserved->second;
}

AddressMap::Owners AddressMap::locked_owners_at(uint64_t address, Reserved* known) const {
    Owners owners;
    if (const Object* object = object_at(address)) owners = {sole_owner(*object, known), std::nullopt, true};
    const auto page = by_page_.find(address >> kPageBits);
    if (page != by_page_.end()) owners.page = page->second.back().owner;
    return owners;
}

AddressMap::Owners AddressMap::owners_at(uint64_t address) const {
    std::unique_lock lock(mutex_);
    Reserved known;
    return locked_owners_at(address, &known);
}

AddressMap::Stretches AddressMap::stretches() const {
    std::unique_lock lock(mutex_);
    // Between two of these, the owners are the same.
    std::vector<uint64_t> begins;
    for (const PageRange& range : locked_pages())
        for (const uint64_t page : {range.first, range.first + range.count}) begins.push_back(page << kPageBits);
    for (const auto& [address, object] : by_address_)
        for (const uint64_t edge : {address, address + object.bytes}) begins.push_back(edge);
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    Stretches all{version(), {}};
    Reserved known;
    for (const uint64_t begin : begins) all.list.push_back({begin, locked_owners_at(begin, &known)});
    return all;
}

size_t AddressMap::entries() const {
    std::unique_lock lock(mutex_);
    return by_address_.size() + by_page_.size();
}

AddressMap::Pages AddressMap::pages_of(uint64_t address, uint64_t bytes) {
    if (bytes == 0 || address >> kAddressBits) return {};
    const uint64_t last_address = std::min<uint64_t>(address + bytes - 1, (1ull << kAddressBits) - 1);
    return {address >> kPageBits, (last_address >> kPageBits) + 1};
}

AddressMap::Place AddressMap::place_of(const Holders& holders) const {
    if (holders.empty()) return {};
    const Holder& newest = holders.back();
    return {newest.owner, own_.count(newest.object) ? newest.object : 0};
}

template <class Change>
void AddressMap::change_pages(Pages pages, MapChanges* changed, Change change) {
    for (uint64_t page = pages.first; page < pages.end; ++page) {
        Holders& holders = by_page_[page];
        const Place before = place_of(holders);
        change(holders);
        const Place after = place_of(holders);
        if (before.owner != after.owner || before.object != after.object) append(&changed->pages, {page, 1, after.owner, after.object});
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
    return locked_pages();
}

std::vector<PageRange> AddressMap::locked_pages() const {
    std::vector<uint64_t> keys;
    for (const auto& entry : by_page_) keys.push_back(entry.first);
    std::sort(keys.begin(), keys.end());
    std::vector<PageRange> ranges;
    for (const uint64_t page : keys) {
        const Place place = place_of(by_page_.at(page));
        append(&ranges, {page, 1, place.owner, place.object});
    }
    return ranges;
}

}  // namespace snoopie
