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

Object AddressMap::add(uint64_t address, uint64_t bytes, uint8_t owner, uint64_t context, std::vector<PageRange>* changed) {
    std::unique_lock lock(mutex_);
    const Object object{++last_id_, address, bytes, owner, context};
    by_address_[address] = object;
    ++live_[owner];
    update(object, true, changed);
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

void AddressMap::end_free(const Object& object, bool succeeded, std::vector<PageRange>* changed) {
    std::unique_lock lock(mutex_);
    if (!succeeded) {
        by_address_.try_emplace(object.address, object);
        return;
    }
    --live_[object.owner];
    update(object, false, changed);
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
        --live_[entry->second.owner];
        update(entry->second, false, changed);
        entry = by_address_.erase(entry);
    }
    return ended;
}

void AddressMap::update(const Object& object, bool insert, std::vector<PageRange>* changed) {
    if (object.bytes == 0 || object.address >> kAddressBits) return;
    const uint64_t last_address = std::min<uint64_t>(object.address + object.bytes - 1, (1ull << kAddressBits) - 1);
    for (uint64_t page = object.address >> kPageBits; page <= last_address >> kPageBits; ++page) {
        std::vector<Object>& objects = by_page_[page];
        const auto owner = [&]() -> std::optional<uint8_t> {
            if (objects.empty()) return std::nullopt;
            return objects.back().owner;
        };
        const auto before = owner();
        if (insert) {
            objects.push_back(object);
        } else {
            objects.erase(std::remove_if(objects.begin(), objects.end(), [&](const Object& o) { return o.id == object.id; }),
                          objects.end());
        }
        const auto after = owner();
        if (before != after) append(changed, page, after);
        if (objects.empty()) by_page_.erase(page);
    }
}

std::optional<uint8_t> AddressMap::owner_of(uint64_t address) const {
    std::unique_lock lock(mutex_);
    const auto found = by_page_.find(address >> kPageBits);
    if (found == by_page_.end()) return std::nullopt;
    return found->second.back().owner;
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
