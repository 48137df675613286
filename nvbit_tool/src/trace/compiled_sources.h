// The text of what the program has a compiler in its process compile, from memory or from a file that is gone when the code is launched.
//
// A text is known by the name that line tables give it. They say nothing else of it, no size and no time: of several texts under one name,
// such as the one that NVRTC gives to programs without a name, the latest is kept.
#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace snoopie {

// Safe to call from any thread.
class CompiledSources {
  public:
    struct Limits {
        size_t texts = 1 << 14;
        size_t text = 1 << 20;  // bytes of one
        size_t all = 32 << 20;  // of all together; those that were not used for longest make room
    };

    CompiledSources() : CompiledSources(Limits()) {}
    explicit CompiledSources(Limits limits) : limits_(limits) {}

    // Those of this process, from its first compilation on, which may come before anything is recorded.
    static CompiledSources& of_process();

    void keep(const std::string& name, std::string_view text);
    std::optional<std::string> find(const std::string& name);

  private:
    struct Text {
        std::string name;
        std::string text;
    };

    void drop(std::list<Text>::iterator text);

    const Limits limits_;
    std::mutex mutex_;
    std::list<Text> texts_;  // the one used last comes first
    std::unordered_map<std::string_view, std::list<Text>::iterator> by_name_;
    size_t bytes_ = 0;
};

}  // namespace snoopie
