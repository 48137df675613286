// Reading this process's memory at an address that need not be aligned.
#pragma once

#include <cstdint>
#include <cstring>

namespace snoopie {

template <class T>
T load(uint64_t address) {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}

}  // namespace snoopie
