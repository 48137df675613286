// What NVSHMEM's programs share: joining the other PEs, and zeroed arrays in the symmetric heap.
#pragma once

#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstddef>

#include "ranks.cuh"

// Makes this process a PE, of the rank that its launcher says; PE 0 tells the others how to reach it through a file.
inline void join(const char* program, const char* file) {
    without_multicast();
    const Place place = take_place(program);
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    const bool named = place.rank != 0 || nvshmemx_get_uniqueid(&id) == 0;
    if (named) share(&id, place.rank, file);
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (!named || nvshmemx_set_attr_uniqueid_args(place.rank, place.ranks, &id, &attributes) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0) {
        std::fprintf(stderr, "%s: NVSHMEM does not start on PE %d of %d\n", program, place.rank, place.ranks);
        std::exit(1);
    }
}

// The address, on this PE, of a zeroed array that all PEs make together. It starts at a sector.
template <typename T>
T* symmetric(size_t count) {
    T* const address = static_cast<T*>(nvshmem_align(256, count * sizeof(T)));
    if (address == nullptr) {
        std::fprintf(stderr, "no %zu bytes of symmetric memory\n", count * sizeof(T));
        std::exit(1);
    }
    CHECK(cudaMemset(address, 0, count * sizeof(T)));
    CHECK(cudaDeviceSynchronize());
    return address;
}
