// Small numbers that stand in trace columns, with the names that the header gives them.
#pragma once

#include <cstdint>

namespace snoopie {

// An owner is the index of a GPU in the header, a multicast object (whose GPUs the table of sets names), or one of these.
constexpr uint8_t kOwnerHost = 254;
constexpr uint8_t kOwnerUnknown = 255;
constexpr int kMaxGpus = 64;
constexpr uint8_t kFirstSet = kMaxGpus;
constexpr int kMaxSets = 8;

enum class Operation : uint8_t { load, store, atomic, reduction };
constexpr const char* kOperationNames[] = {"load", "store", "atomic", "reduction"};

// A mapping shows physical memory, of this process or (import) another; symmetric: a part of NVSHMEM's heap.
enum class ObjectKind : uint8_t { device, pool, array, mapping, import, managed, host, registered, graph, multicast, physical, symmetric };
constexpr const char* kObjectKindNames[] = {"device", "pool",       "array", "mapping",   "import",   "managed",
                                            "host",   "registered", "graph", "multicast", "physical", "symmetric"};

// What ended an object: a call, or the end of its context, as by cudaDeviceReset.
enum class FreedBy : uint8_t { call, context_end };

// Where a copy goes: device to device is within a GPU's memory, peer from one GPU's to another's. none: the call is no copy; other: not all
// of it goes one of these ways, or that is not known.
enum class Direction : uint8_t { none, host_to_device, device_to_host, device_to_device, peer, host_to_host, other };
constexpr const char* kDirectionNames[] = {"", "host to device", "device to host", "device to device", "peer", "host to host", "other"};

enum class CopyKind : uint8_t { linear, rectangle, box, batch, graph, prefetch };
constexpr const char* kCopyKindNames[] = {"linear", "2d", "3d", "batch", "graph", "prefetch"};

// Which code a launch ran: with all its probes, with those whose accesses may leave the GPU, or the kernel's own.
enum class Code : uint8_t { full, partial, original };
constexpr const char* kCodeNames[] = {"full", "partial", "original"};

// Counters and page bytes number the owners densely, in slots: the GPUs, the host, unknown, the multicast objects. Behind them come slots
// of objects, see SlotTable.
struct OwnerSlots {
    uint8_t gpus = 0;
    uint8_t sets = 0;

    constexpr uint32_t count() const { return gpus + 2u + sets; }
    constexpr uint8_t slot(uint8_t owner) const {
        if (owner < gpus) return owner;
        if (owner == kOwnerHost) return gpus;
        if (owner >= kFirstSet && owner < kFirstSet + sets) return static_cast<uint8_t>(gpus + 2 + owner - kFirstSet);
        return static_cast<uint8_t>(gpus + 1);
    }
    constexpr uint8_t owner(uint32_t slot) const {
        if (slot < gpus) return static_cast<uint8_t>(slot);
        if (slot == gpus) return kOwnerHost;
        if (slot == gpus + 1u || slot >= count()) return kOwnerUnknown;
        return static_cast<uint8_t>(kFirstSet + slot - gpus - 2);
    }
};

}  // namespace snoopie
