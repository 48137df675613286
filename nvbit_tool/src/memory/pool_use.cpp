#include "memory/pool_use.h"

#include <optional>

namespace snoopie {

namespace {

std::optional<int64_t> ask(CUmemoryPool pool, CUmemPool_attribute attribute) {
    uint64_t bytes = 0;
    if (cuMemPoolGetAttribute(pool, attribute, &bytes) != CUDA_SUCCESS) return std::nullopt;
    return static_cast<int64_t>(bytes);
}

}  // namespace

void PoolUse::used(CUmemoryPool pool, uint8_t gpu) {
    if (gpu >= kMaxGpus) return;
    {
        const OwnCalls own;
        if (!pool && cuDeviceGetMemPool(&pool, gpu) != CUDA_SUCCESS) return;
        std::unique_lock lock(mutex_);
        pools_[pool] = gpu;
        any_ = true;
    }
    look();
}

void PoolUse::destroyed(CUmemoryPool pool) {
    if (!any_) return;
    std::unique_lock lock(mutex_);
    const auto found = pools_.find(pool);
    if (found == pools_.end()) return;
    const uint8_t gpu = found->second;
    pools_.erase(found);
    // Should it have been the GPU's only one.
    bytes_[gpu].reserved = 0;
    bytes_[gpu].used = 0;
    look_locked();
}

void PoolUse::look() {
    if (!any_) return;
    std::unique_lock lock(mutex_);
    if (std::chrono::steady_clock::now() >= next_) look_locked();
}

void PoolUse::look_now() {
    if (!any_) return;
    std::unique_lock lock(mutex_);
    look_locked();
}

void PoolUse::look_locked() {
    const OwnCalls own;
    struct Sums {
        int64_t reserved = 0;
        int64_t used = 0;
        bool known = true;
    };
    std::map<uint8_t, Sums> sums;
    for (const auto& [pool, gpu] : pools_) {
        const auto reserved = ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        const auto used = ask(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
        Sums& sum = sums[gpu];
        sum.known &= reserved && used;
        sum.reserved += reserved.value_or(0);
        sum.used += used.value_or(0);
    }
    for (const auto& [gpu, sum] : sums) {
        bytes_[gpu].reserved = sum.known ? sum.reserved : -1;
        bytes_[gpu].used = sum.known ? sum.used : -1;
    }
    next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(kMilliseconds);
}

}  // namespace snoopie
