// Small numbers that stand in trace columns, with the names that the header gives them.
#pragma once

#include <cstdint>

namespace snoopie {

// An owner is the index of a GPU in the header, a multicast object (whose GPUs the table of sets names), or one of these.
constexpr uint8_t kOwnerHost = 254;
constexpr uint8_t kOwnerUnknown = 255;
constexpr int kMaxGpus = 64;
constexpr uint8_t kFirstSet = kMaxGpus;
constexpr int kMaxSets = 16;

enum class Operation : uint8_t { load, store, atomic, reduction };
constexpr const char* kOperationNames[] = {"load", "store", "atomic", "reduction"};

enum class ObjectKind : uint8_t { device, pool, array, mapping, import, managed, host, registered, graph, multicast };
constexpr const char* kObjectKindNames[] = {"device",  "pool", "array",      "mapping", "import",
                                            "managed", "host", "registered", "graph",   "multicast"};

enum class CopyKind : uint8_t { linear, rectangle, box, batch, graph, prefetch };
constexpr const char* kCopyKindNames[] = {"linear", "2d", "3d", "batch", "graph", "prefetch"};

}  // namespace snoopie
