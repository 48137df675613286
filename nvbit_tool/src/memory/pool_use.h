// How much memory the process's pools hold, and how much of it is handed out, as the driver says it at calls about pools.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "driver/driver.h"
#include "memory/memory_use.h"

namespace snoopie {

// It asks on the thread of such a call: another thread could wait there for a lock that the application holds.
class PoolUse {
  public:
    // `bytes`: where to leave the answers, by GPU.
    explicit PoolUse(PoolBytes* bytes) : bytes_(bytes) {}

    // The process got memory from a pool of this GPU; null is the one that is current there.
    void used(CUmemoryPool pool, uint8_t gpu);
    // Said before it happens.
    void destroyed(CUmemoryPool pool);

    // Asks, unless it has within the last kMilliseconds.
    void look();
    void look_now();

    static constexpr int kMilliseconds = 10;

  private:
    void look_locked();

    PoolBytes* const bytes_;
    std::atomic<bool> any_{false};
    std::mutex mutex_;
    std::map<CUmemoryPool, uint8_t> pools_;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace snoopie
