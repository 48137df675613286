// Which sites of a kernel are dead in a launch: their accesses cannot leave the GPU, by what the parameters point to.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "launches/function_addresses.h"
#include "launches/live_calls.h"

namespace snoopie {

// Of one kernel in one context, whose lock is held in all calls but distrust().
class Liveness {
  public:
    struct Answer {
        bool any_live = true;
        const std::vector<uint32_t>* dead = nullptr;  // ids of sites, ascending; null if nothing is known
    };

    // For a launch with these parameters, none if they are not known. `version`: of what `where` answers from.
    const Answer& at_launch(const FunctionAddresses& addresses, const std::optional<std::string>& parameters, const WhereIs& where,
                            uint64_t version);

    // A dead site has left the GPU: from now on all are live. How many launches were without probes so far.
    uint64_t distrust();
    bool trusted() const { return trusted_.load(std::memory_order_relaxed); }

    // A launch in which nothing is live: whether its own code is to take the place of the instrumented one. Not at once when that came
    // back and forth, as each switch costs more than some launches with probes.
    bool shrinks(bool instrumented);
    void grows() { idle_ = 0; }
    void ran_without() { ++without_; }

    // Launches that were looked at: the first and some by chance run all probes, as a check.
    uint64_t looked_at() { return looks_++; }

  private:
    std::unordered_map<std::string, Answer> known_;  // by the parameters
    std::set<std::vector<uint32_t>> sets_;           // of dead sites; kept, as launches under way still look at them. There are few
    uint64_t version_ = 0;
    Answer unknown_;
    std::atomic<bool> trusted_{true};
    std::atomic<uint64_t> without_{0};
    uint64_t looks_ = 0;
    uint32_t idle_ = 0;      // launches in a row in which nothing was live
    uint32_t patience_ = 0;  // so many more before the next switch
};

}  // namespace snoopie
