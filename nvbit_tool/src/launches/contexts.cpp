#include "launches/contexts.h"

#include <algorithm>
#include <mutex>

namespace snoopie {

void Contexts::created(CUcontext handle, uint8_t gpu) {
    std::unique_lock lock(mutex_);
    std::unique_ptr<Context>& context = contexts_[handle];
    if (context) ended_.push_back(std::move(context));
    context = std::make_unique<Context>(handle, gpu);
    changed_();
}

Contexts::Ending Contexts::ending(CUcontext handle) {
    Ending ending;
    std::unique_lock lock(mutex_);
    const auto found = contexts_.find(handle);
    if (found == contexts_.end()) return ending;
    ending.context = std::move(found->second);
    contexts_.erase(found);
    changed_();
    ending.last =
        std::none_of(contexts_.begin(), contexts_.end(), [&](const auto& other) { return other.second->gpu() == ending.context->gpu(); });
    return ending;
}

void Contexts::ended(std::unique_ptr<Context> context) {
    std::unique_lock lock(mutex_);
    ended_.push_back(std::move(context));
}

Context* Contexts::find(CUcontext handle) const {
    if (!recording_->on()) return nullptr;
    std::shared_lock lock(mutex_);
    const auto found = contexts_.find(handle);
    return found == contexts_.end() ? nullptr : found->second.get();
}

std::vector<Context*> Contexts::all() const {
    std::shared_lock lock(mutex_);
    std::vector<Context*> contexts;
    for (const auto& [handle, context] : contexts_) contexts.push_back(context.get());
    return contexts;
}

int Contexts::gpu(CUcontext handle) const {
    const Context* context = handle ? find(handle) : nullptr;
    return context ? context->gpu() : -1;
}

void Contexts::each(const std::function<void(Context&)>& action) const {
    std::shared_lock lock(mutex_);
    for (const auto& [handle, context] : contexts_) action(*context);
    for (const auto& context : ended_) action(*context);
}

}  // namespace snoopie
