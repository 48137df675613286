// Memory that CUPTI writes records into: a bounded number of buffers, that go round between CUPTI and the thread that reads them. It is on
// the program's threads that CUPTI takes and fills them, so what can be done on the other is: new memory is touched there, and what was
// read is made zero again, which CUPTI would do otherwise.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

namespace snoopie {

// Safe to call from any thread.
class ActivityBuffers {
  public:
    static constexpr size_t kBytes = 2 << 20;
    static constexpr size_t kMost = 32;
    static constexpr size_t kAlignment = 8;  // that CUPTI asks for

    struct Full {
        uint8_t* buffer;
        size_t valid;
    };

    // All of it is zero. Null if all are in use: CUPTI then drops records, and counts them.
    uint8_t* take() {
        {
            std::unique_lock lock(mutex_);
            if (frees_ > 0) return free_[--frees_];
            if (made_ == kMost) return nullptr;
            ++made_;
        }
        return make();
    }

    // So many lie ready from here on, unless some are in use.
    void prepare(size_t number) {
        std::vector<uint8_t*> taken(number);
        for (uint8_t*& buffer : taken) buffer = take();
        // To make them zero once more touches each page.
        for (uint8_t* const buffer : taken)
            if (buffer) put_back({buffer, kBytes});
    }

    void put_back(Full read) {
        std::memset(read.buffer, 0, read.valid);
        std::unique_lock lock(mutex_);
        free_[frees_++] = read.buffer;
    }

    void completed(uint8_t* buffer, size_t valid) {
        std::unique_lock lock(mutex_);
        full_[(first_full_ + fulls_++) % kMost] = {buffer, valid};
        wake_.notify_one();
    }

    // The next to read; none after so long without one, or at once when it is the end and all were read.
    std::optional<Full> next(std::chrono::milliseconds patience) {
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, patience, [this] { return ending_ || fulls_ > 0; });
        if (fulls_ == 0) return std::nullopt;
        const Full full = full_[first_full_];
        first_full_ = (first_full_ + 1) % kMost;
        --fulls_;
        return full;
    }

    // No more come.
    void end() {
        std::unique_lock lock(mutex_);
        ending_ = true;
        wake_.notify_all();
    }
    bool ended() const {
        std::unique_lock lock(mutex_);
        return ending_ && fulls_ == 0;
    }

  private:
    // The kernel gives memory of this size as zeros.
    uint8_t* make() {
        void* const buffer = std::calloc(1, kBytes);
        static_assert(alignof(std::max_align_t) % kAlignment == 0);
        if (buffer) return static_cast<uint8_t*>(buffer);
        std::unique_lock lock(mutex_);
        --made_;
        return nullptr;
    }

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    // Each buffer is in one of them at most: what CUPTI calls on the program's threads takes no memory.
    std::array<uint8_t*, kMost> free_{};
    std::array<Full, kMost> full_{};  // a ring
    size_t frees_ = 0;
    size_t first_full_ = 0;
    size_t fulls_ = 0;
    size_t made_ = 0;
    bool ending_ = false;
};

}  // namespace snoopie
