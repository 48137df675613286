// Small numbers that stand in trace columns, with the names that the header gives them.
#pragma once

#include <cstdint>

namespace snoopie {

// An owner is the index of a GPU in the header, or one of these.
constexpr uint8_t kOwnerHost = 254;
constexpr uint8_t kOwnerUnknown = 255;
constexpr int kMaxGpus = 64;

enum class Operation : uint8_t { load, store, atomic, reduction };
constexpr const char* kOperationNames[] = {"load", "store", "atomic", "reduction"};

enum class ObjectKind : uint8_t { device };
constexpr const char* kObjectKindNames[] = {"device"};

}  // namespace snoopie
