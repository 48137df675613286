// What a thread has under way, innermost last: calls between their entry and their exit.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace snoopie {

// It takes memory only while it holds something, and has no destructor: as a thread_local variable it outlives those of the program, whose
// destructors still make calls while the thread or the process ends.
template <class T>
class ThreadStack {
  public:
    bool empty() const { return !items_; }
    // It is not empty.
    const T& top() const { return items_->back(); }
    T& top() { return items_->back(); }

    void push(T item) {
        if (!items_) items_ = new std::vector<T>;
        items_->push_back(std::move(item));
    }

    std::optional<T> pop() {
        if (!items_) return std::nullopt;
        std::optional<T> item(std::move(items_->back()));
        items_->pop_back();
        if (items_->empty()) take();
        return item;
    }

    // All of them, outermost first.
    std::vector<T> take() {
        if (!items_) return {};
        std::vector<T> items = std::move(*items_);
        delete items_;
        items_ = nullptr;
        return items;
    }

  private:
    std::vector<T>* items_ = nullptr;
};

}  // namespace snoopie
