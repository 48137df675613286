#include "trace/compiled_sources.h"

#include <pthread.h>

#include <iterator>

namespace snoopie {

CompiledSources& CompiledSources::of_process() {
    // Never destroyed: the collector asks until the process has ended. A child that is forked can go on compiling.
    static CompiledSources& sources = *[] {
        auto* made = new CompiledSources;
        pthread_atfork([] { of_process().mutex_.lock(); }, [] { of_process().mutex_.unlock(); }, [] { of_process().mutex_.unlock(); });
        return made;
    }();
    return sources;
}

void CompiledSources::keep(const std::string& name, std::string_view text) {
    const std::unique_lock lock(mutex_);
    const auto known = by_name_.find(name);
    if (known != by_name_.end()) drop(known->second);
    if (text.size() > limits_.text) return;
    texts_.push_front({name, std::string(text)});
    by_name_.emplace(texts_.front().name, texts_.begin());
    bytes_ += text.size();
    while (texts_.size() > limits_.texts || bytes_ > limits_.all) drop(std::prev(texts_.end()));
}

std::optional<std::string> CompiledSources::find(const std::string& name) {
    const std::unique_lock lock(mutex_);
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return std::nullopt;
    texts_.splice(texts_.begin(), texts_, known->second);
    return known->second->text;
}

void CompiledSources::drop(std::list<Text>::iterator text) {
    bytes_ -= text->text.size();
    by_name_.erase(text->name);
    texts_.erase(text);
}

}  // namespace snoopie
