// The CUDA contexts of this process, from their making to their end.
#pragma once

#include <functional>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "base/recording.h"
#include "launches/context.h"

namespace snoopie {

// Safe to call from any thread.
class Contexts {
  public:
    // `changed` is called, with the contexts locked, whenever one comes or goes.
    Contexts(const Recording* recording, std::function<void()> changed) : recording_(recording), changed_(std::move(changed)) {}

    void created(CUcontext handle, uint8_t gpu);

    // The context is found no more. Null if it is not known.
    struct Ending {
        std::unique_ptr<Context> context;
        bool last = false;  // of its GPU
    };
    Ending ending(CUcontext handle);
    // It lives on: launches under way may still look at it.
    void ended(std::unique_ptr<Context> context);

    // Null for one that is not known, and while nothing is recorded.
    Context* find(CUcontext handle) const;
    // The same for launches, which are not looked at while the program exits.
    Context* find_for_launch(CUcontext handle) const { return recording_->exiting() ? nullptr : find(handle); }
    // The GPU of a context, -1 if it is not known.
    int gpu(CUcontext handle) const;

    std::vector<Context*> all() const;
    // Also with those that have ended.
    void each(const std::function<void(Context&)>& action) const;

  private:
    const Recording* const recording_;
    const std::function<void()> changed_;

    mutable std::shared_mutex mutex_;
    std::unordered_map<CUcontext, std::unique_ptr<Context>> contexts_;
    std::vector<std::unique_ptr<Context>> ended_;
};

}  // namespace snoopie
