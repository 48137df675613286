// The latest NCCL calls of this process, with their numbers on their communicators: for reports of hangs.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "hang/report.h"
#include "libraries/collective.h"

namespace snoopie {

class CollectiveLog {
  public:
    // Groups and communicators that are remembered.
    static constexpr size_t kMostGroups = 256, kMostCommunicators = 256;

    // The calls of one group, in their order.
    void add(const std::vector<Collective>& calls);
    std::vector<HangCollective> of_group(uint32_t group) const;
    // The last call of each rank of this process on each communicator.
    std::vector<HangCollective> last() const;

  private:
    mutable std::mutex mutex_;
    std::map<uint32_t, std::vector<HangCollective>> groups_;   // numbers of groups rise
    std::map<std::pair<uint64_t, int>, HangCollective> last_;  // by communicator and rank
};

}  // namespace snoopie
