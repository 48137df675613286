// Which GPU may access which other GPU's memory. A device that reaches nothing foreign runs native code, so a grant too many costs time and
// a grant too few would lose traffic: mappings stay granted when they end.
#pragma once

#include <array>
#include <bitset>
#include <mutex>

#include "memory/address_map.h"

namespace snoopie {

class Reach {
  public:
    // Of one GPU's plain allocations by cuCtxEnablePeerAccess, until it is disabled or one of the two contexts ends.
    void enable_peer(uint8_t issuer, uint8_t owner, bool enabled) {
        std::unique_lock lock(mutex_);
        if (issuer < kMaxGpus && owner < kMaxGpus) peers_[issuer][owner] = enabled;
    }
    void end_gpu(uint8_t gpu) {
        std::unique_lock lock(mutex_);
        if (gpu >= kMaxGpus) return;
        peers_[gpu].reset();
        for (auto& owners : peers_) owners[gpu] = false;
    }

    // Of memory that was mapped, imported or allocated for the issuer's use.
    void grant(uint8_t issuer, uint8_t owner) {
        std::unique_lock lock(mutex_);
        if (issuer < kMaxGpus && owner < kMaxGpus) mapped_[issuer][owner] = true;
    }
    void grant_all(uint8_t owner) {
        for (int issuer = 0; issuer < kMaxGpus; ++issuer) grant(static_cast<uint8_t>(issuer), owner);
    }

    // Whether the GPU can touch memory that is not its own. `host`: the host's counts. Memory of the host, of unknown owners and of
    // multicast objects is everybody's.
    bool reaches_foreign(uint8_t issuer, const AddressMap& map, bool host) const {
        std::unique_lock lock(mutex_);
        if ((host && map.any_of(kOwnerHost)) || map.any_of(kOwnerUnknown)) return true;
        for (int set = 0; set < kMaxSets; ++set)
            if (map.any_of(static_cast<uint8_t>(kFirstSet + set))) return true;
        const auto owners = peers_[issuer] | mapped_[issuer];
        for (int owner = 0; owner < kMaxGpus; ++owner)
            if (owners[static_cast<size_t>(owner)] && owner != issuer && map.any_of(static_cast<uint8_t>(owner))) return true;
        return false;
    }

  private:
    using Owners = std::bitset<kMaxGpus>;
    mutable std::mutex mutex_;
    std::array<Owners, kMaxGpus> peers_;   // by issuer
    std::array<Owners, kMaxGpus> mapped_;  // by issuer
};

}  // namespace snoopie
