// The memory of this process as the trace and the probes see it: changes of the address map go to every device, objects into the trace.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "launches/context.h"
#include "memory/address_map.h"
#include "memory/reach.h"
#include "memory/where.h"
#include "trace/trace_writer.h"

namespace snoopie {

// Who made an object, in the trace's ids.
struct Maker {
    uint32_t thread = 0;
    uint32_t call = 0;   // string
    uint32_t stack = 0;  // 0 = unknown
};

class Memory {
  public:
    using Notify = std::function<void(const std::string&)>;

    // `host`: whether accesses to the host's memory are measured.
    Memory(TraceWriter* writer, bool host, Notify notify) : writer_(writer), host_(host), notify_(std::move(notify)) {}

    // The context gets its probe memory, and learns of all changes from here on.
    void attach(Context* context, std::unique_ptr<ProbeMemory> memory);
    // The context ends, and with it what was allocated in it. `last`: its GPU has no other.
    void detach(Context* context, bool last);

    // Returns the object's id, as `listed` does.
    uint32_t allocated(Object object, const Maker& maker);
    // In the trace only: memory without an address, or a part of another object.
    uint32_t listed(Object object, const Maker& maker);
    void ended(uint32_t object, FreedBy by = FreedBy::call);
    std::vector<Object> freeing(uint64_t address);
    std::vector<Object> unmapping(uint64_t address, uint64_t bytes);
    void freed(const std::vector<Object>& objects, AddressMap::Freed freed);
    // Addresses for mappings.
    void reserved(uint64_t address, uint64_t bytes) { map_.reserve(address, bytes); }
    void unreserved(uint64_t address) { map_.unreserve(address); }
    void managed_moved(uint64_t address, uint64_t bytes, uint8_t owner);

    // No more launches are measured: the devices need not learn of changes.
    void end_publishing();

    const AddressMap& map() const { return map_; }
    Reach& reach() { return reach_; }
    // Where addresses are, as one GPU sees them. Memory that is not measured is as good as the GPU's own.
    WhereIs where_is(uint8_t gpu) const;
    bool reaches_foreign(uint8_t issuer) const { return reach_.reaches_foreign(issuer, map_, host_); }

  private:
    // Of one GPU, for one version of the map: made once so much was asked that it would have paid.
    struct Table {
        uint64_t version = 0;
        size_t entries = 0;  // of the map
        std::atomic<size_t> asked{0};
        std::optional<WhereTable> made;
    };
    Where where(uint8_t gpu, const AddressMap::Owners& owners) const;
    // What the devices receive: without the host's memory if that is not measured.
    std::vector<PageRange> measured(std::vector<PageRange> ranges) const;
    // The caller holds publishing_.
    void publish(const MapChanges& changed);
    void write(const Object& object, const Maker& maker);

    TraceWriter* const writer_;
    const bool host_;
    const Notify notify_;

    // Held while a change of the map is made and brought to the devices, so that these see changes in the map's order.
    std::mutex publishing_;
    AddressMap map_;
    Reach reach_;
    std::vector<Context*> contexts_;

    mutable std::mutex tables_mutex_;
    mutable std::unordered_map<uint8_t, std::shared_ptr<Table>> tables_;
};

}  // namespace snoopie
