// Memory of one GPU with typed access from the host, and the checks of a program that has many.
#pragma once

#include <vector>

#include "common.cuh"

// A zeroed array on one GPU or the host (kHost), of 16 KiB unless said. Leaves GPU 0 as the current one.
struct Array {
    size_t bytes;
    void* address = nullptr;

    explicit Array(int place, size_t size = 16384) : bytes(size), address(memory_at(place, size)) {
        CHECK(cudaSetDevice(place == kHost ? 0 : place));
        CHECK(cudaMemset(address, 0, bytes));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaSetDevice(0));
    }
    template <typename T>
    operator T*() const {
        return static_cast<T*>(address);
    }
    template <typename T>
    void write(const std::vector<T>& values) const {
        CHECK(cudaMemcpy(address, values.data(), values.size() * sizeof(T), cudaMemcpyDefault));
    }
    template <typename T>
    std::vector<T> read() const {
        std::vector<T> values(bytes / sizeof(T));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(values.data(), address, bytes, cudaMemcpyDefault));
        return values;
    }
};
