// Which lines have stored to which memory so far: for reports of hangs, which say who should have stored where a kernel polls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace snoopie {

struct StoreSum {
    uint32_t site = 0;
    uint8_t gpu = 0;  // that runs it
    uint8_t owner = 0;
    uint32_t object = 0;
    uint64_t accesses = 0;
};

class StoreSums {
  public:
    static constexpr size_t kMost = 1 << 16;

    void add(const StoreSum& store) {
        const Key key{{store.owner, store.object}, {store.site, store.gpu}};
        // Memory comes and goes: when there is no room left, what was stored before is known by owner alone.
        if (sums_.size() >= kMost && !full_ && !sums_.count(key)) {
            sums_ = without_objects();
            full_ = sums_.size() > kMost / 2;  // that would help no more
        }
        if (sums_.size() < kMost || sums_.count(key)) sums_[key] += store.accesses;
    }

    // Most accesses first.
    std::vector<StoreSum> to(uint8_t owner, uint32_t object) const {
        return between(Key{{owner, object}, {0, 0}}, Key{{owner, uint64_t{object} + 1}, {0, 0}});
    }
    // To all memory, added up by owner.
    std::vector<StoreSum> by_owner() const {
        StoreSums owners;
        owners.sums_ = without_objects();
        return owners.between(Key{}, Key{{kNoOwner, 0}, {0, 0}});
    }

  private:
    static constexpr uint32_t kNoOwner = 256;
    // Owner and object; site and GPU.
    using Key = std::pair<std::pair<uint32_t, uint64_t>, std::pair<uint32_t, uint8_t>>;

    std::map<Key, uint64_t> without_objects() const {
        std::map<Key, uint64_t> owners;
        for (const auto& [key, accesses] : sums_) owners[{{key.first.first, 0}, key.second}] += accesses;
        return owners;
    }

    std::vector<StoreSum> between(const Key& first, const Key& end) const {
        std::vector<StoreSum> stores;
        for (auto one = sums_.lower_bound(first); one != sums_.end() && one->first < end; ++one)
            stores.push_back({one->first.second.first, one->first.second.second, static_cast<uint8_t>(one->first.first.first),
                              static_cast<uint32_t>(one->first.first.second), one->second});
        std::stable_sort(stores.begin(), stores.end(), [](const StoreSum& a, const StoreSum& b) { return a.accesses > b.accesses; });
        return stores;
    }

    std::map<Key, uint64_t> sums_;
    bool full_ = false;
};

}  // namespace snoopie
