// Which cells hold the values of a kernel's launches in a stream.
//
// A context has so many and no more, and streams come and go. So those of a stream that ends serve others, once all that was in it has run:
// a launch reads its cell when it begins.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "launches/event_pool.h"

namespace snoopie {

class Context;
struct ContextFunction;

// Of one context. Safe to call from any thread.
class StreamCells {
  public:
    explicit StreamCells(Context* context) : context_(context) {}

    // The cell for launches of a function, whose lock is held, in a stream. None if there are no more, or if the driver does not tell
    // streams apart.
    std::optional<uint64_t> cell(const ContextFunction& function, CUstream stream);
    // At the entry of the call that ends a stream.
    void ending(CUstream stream);
    // The same of cells that others have, behind whose launches this event of the context's pool is. It goes back there, too.
    void ended(CUevent behind, std::vector<uint64_t> cells);
    // Gives the context those that are free by now.
    void give_back_ended();

  private:
    // Cells of streams that have ended, and what is recorded behind all that was in one.
    struct Ended {
        CUevent event = nullptr;
        std::vector<uint64_t> cells;
    };

    Context* const context_;
    std::mutex mutex_;
    std::unordered_map<uint64_t, std::unordered_map<const ContextFunction*, uint64_t>> cells_;  // by the stream's id
    std::vector<Ended> ended_;
};

}  // namespace snoopie
