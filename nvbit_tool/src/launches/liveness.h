// Which sites of a kernel are dead in a launch: their accesses cannot leave the GPU, by what the parameters point to.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "launches/call_set.h"
#include "launches/function_addresses.h"
#include "launches/live_calls.h"

namespace snoopie {

// Of one kernel in one context, whose lock is held in all calls but distrust().
class Liveness {
  public:
    struct Answer {
        bool any_live = true;
        const std::vector<uint32_t>* dead = nullptr;  // ids of sites, ascending; null if nothing is known
        const CallSet* live = nullptr;                // calls of which a site is not dead; null if they all are
    };

    // For a launch with these parameters, none if they are not known. `where_is` is asked for only where they are new. `version`: of what
    // it answers from.
    const Answer& at_launch(const FunctionAddresses& addresses, const std::optional<std::string>& parameters,
                            const std::function<WhereIs()>& where_is, uint64_t version);

    // Nodes of graphs run the kernel with these parameters, none if they are not known, from now on.
    void put_in_graph(const FunctionAddresses& addresses, const std::optional<std::string>& parameters);
    // What all of them need, and what they need beside a launch.
    const Answer& in_graphs(const FunctionAddresses& addresses, const std::function<WhereIs()>& where_is, uint64_t version);
    const Answer& beside_graphs(const Answer& launch, const FunctionAddresses& addresses, const std::function<WhereIs()>& where_is,
                                uint64_t version);

    // Launches so far that ran without some of their probes, or without any.
    struct Without {
        uint64_t all = 0;
        uint64_t some = 0;
    };
    // A dead site has left the GPU: from now on all are live.
    Without distrust();
    bool trusted() const { return trusted_.load(std::memory_order_relaxed); }

    // A launch that needs fewer calls than the code has: whether they are taken out. Not at once when code went back and forth, as each
    // switch costs more than some launches with all calls.
    bool shrinks();
    // One that needs more.
    void grows();
    // The calls of both.
    const CallSet* united(const CallSet& one, const CallSet& other);

    void ran_without_any() { ++without_any_; }
    void did_not_run() { --without_any_; }
    void ran_without_some() { ++without_some_; }

    // Launches that were looked at: the first and some by chance run all probes, as a check.
    uint64_t looked_at() { return looks_++; }

  private:
    Answer judge(const FunctionAddresses& addresses, const std::string& parameters, const WhereIs& where);
    Answer united(const Answer& one, const Answer& other);

    std::unordered_map<std::string, Answer> known_;  // by what is looked at of the parameters
    // Kept, as launches under way and the code in place still refer to them. There are few.
    std::set<std::vector<uint32_t>> dead_sets_;
    std::set<CallSet> call_sets_;
    uint64_t version_ = 0;
    Answer unknown_;
    std::unordered_map<std::string, std::string> graph_parameters_;  // by what is looked at of them
    bool graphs_unknown_ = false;
    std::optional<uint64_t> graphs_version_;  // of the following; none if it is to be judged anew
    Answer graphs_;
    Answer beside_graphs_;
    std::atomic<bool> trusted_{true};
    std::atomic<uint64_t> without_any_{0};
    std::atomic<uint64_t> without_some_{0};
    uint64_t looks_ = 0;
    uint32_t idle_ = 0;      // launches in a row that needed fewer calls
    uint32_t patience_ = 0;  // so many more before the next switch
    bool shrunk_ = false;    // since it last grew
};

}  // namespace snoopie
