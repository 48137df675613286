// Virtual memory management: memory that is made without an address, and addresses that are given memory piece by piece.
#pragma once

#include <cstdint>
#include <vector>

#include "driver.cuh"

// What memory is asked for with: whose it shall be, and how it can be handed to other processes.
inline CUmemAllocationProp memory_of(CUmemLocationType type, int id, CUmemAllocationHandleType handle = CU_MEM_HANDLE_TYPE_NONE) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = type;
    properties.location.id = id;
    properties.requestedHandleTypes = handle;
    return properties;
}

inline CUmemAllocationProp memory_of_gpu(int gpu, CUmemAllocationHandleType handle = CU_MEM_HANDLE_TYPE_NONE) {
    return memory_of(CU_MEM_LOCATION_TYPE_DEVICE, gpu, handle);
}

// The size of the smallest piece of such memory.
inline size_t chunk_size(const CUmemAllocationProp& properties) {
    size_t bytes = 0;
    CHECK(DRIVER(cuMemGetAllocationGranularity)(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return bytes;
}

// Addresses for a number of chunks of equal size. What is mapped there is open to one GPU.
class Range {
  public:
    Range(int user, size_t chunk_bytes, int chunks) : user_(user), chunk_bytes_(chunk_bytes), mapped_(chunks) {
        CHECK(DRIVER(cuMemAddressReserve)(&start_, chunks * chunk_bytes, 0, 0, 0));
    }
    ~Range() {
        for (size_t chunk = 0; chunk < mapped_.size(); ++chunk)
            if (mapped_[chunk]) unmap(chunk);
        CHECK(DRIVER(cuMemAddressFree)(start_, mapped_.size() * chunk_bytes_));
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

    // Maps memory and lets go of its handle at once, as libraries do: the mapping keeps the memory.
    void map(int chunk, CUmemGenericAllocationHandle memory) {
        CHECK(DRIVER(cuMemMap)(address(chunk), chunk_bytes_, 0, memory, 0));
        CHECK(DRIVER(cuMemRelease)(memory));
        mapped_[chunk] = true;
        CUmemAccessDesc open{};
        open.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        open.location.id = user_;
        open.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        CHECK(DRIVER(cuMemSetAccess)(address(chunk), chunk_bytes_, &open, 1));
    }
    void map(int chunk, const CUmemAllocationProp& properties) {
        CUmemGenericAllocationHandle memory = 0;
        CHECK(DRIVER(cuMemCreate)(&memory, chunk_bytes_, &properties, 0));
        map(chunk, memory);
    }
    // No kernel may still use it.
    void unmap(int chunk) {
        CHECK(DRIVER(cuMemUnmap)(address(chunk), chunk_bytes_));
        mapped_[chunk] = false;
    }

    uint32_t* words(int chunk = 0) const { return reinterpret_cast<uint32_t*>(address(chunk)); }

  private:
    CUdeviceptr address(int chunk) const { return start_ + chunk * chunk_bytes_; }

    int user_;
    size_t chunk_bytes_;
    CUdeviceptr start_ = 0;
    std::vector<bool> mapped_;
};
