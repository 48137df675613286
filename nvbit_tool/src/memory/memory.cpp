#include "memory/memory.h"

#include <algorithm>

#include "base/thread_id.h"

namespace snoopie {

void Memory::attach(Context* context, std::unique_ptr<ProbeMemory> memory) {
    // Under the lock from here on no change is missed: it is either in pages() or published to this context.
    std::unique_lock lock(publishing_);
    if (!memory->set_pages({measured(map_.pages()), {}}))
        notify_("GPU " + std::to_string(context->gpu()) + " learned of allocations too late: accesses to them may be missing");
    context->give_memory(std::move(memory));
    contexts_.push_back(context);
}

void Memory::detach(Context* context, bool last) {
    std::unique_lock lock(publishing_);
    contexts_.erase(std::remove(contexts_.begin(), contexts_.end(), context), contexts_.end());
    MapChanges changed;
    for (const Object& object : map_.end_context(reinterpret_cast<uint64_t>(context->handle()), &changed))
        ended(object.id, FreedBy::context_end);
    publish(changed);
    if (last) reach_.end_gpu(context->gpu());
}

uint32_t Memory::allocated(Object object, const Maker& maker) {
    std::unique_lock lock(publishing_);
    MapChanges changed;
    object = map_.add(object, &changed);
    publish(changed);
    write(object, maker);
    return object.id;
}

uint32_t Memory::listed(Object object, const Maker& maker) {
    object.id = map_.new_id();
    write(object, maker);
    return object.id;
}

void Memory::ended(uint32_t object, FreedBy by) {
    FreeRow row;
    row.object = object;
    row.time = now_ns();
    row.thread = thread_id();
    row.by = static_cast<u1>(by);
    writer_->append(row);
}

std::vector<Object> Memory::freeing(uint64_t address) {
    const std::optional<Object> object = map_.begin_free(address);
    return object ? std::vector{*object} : std::vector<Object>();
}

std::vector<Object> Memory::unmapping(uint64_t address, uint64_t bytes) { return map_.begin_free_range(address, bytes); }

void Memory::freed(const std::vector<Object>& objects, AddressMap::Freed freed) {
    if (objects.empty()) return;
    std::unique_lock lock(publishing_);
    MapChanges changed;
    for (const Object& object : objects) {
        map_.end_free(object, freed, &changed);
        if (freed != AddressMap::Freed::failed) ended(object.id);
    }
    publish(changed);
}

void Memory::managed_moved(uint64_t address, uint64_t bytes, uint8_t owner) {
    std::unique_lock lock(publishing_);
    MapChanges changed;
    map_.move_managed(address, bytes, owner, &changed);
    if (owner < kMaxGpus) reach_.grant_all(owner);
    publish(changed);
}

Where Memory::where(uint8_t gpu, const AddressMap::Owners& owners) const {
    const auto measured = [&](uint8_t owner) { return owner != gpu && (owner != kOwnerHost || host_); };
    if (owners.sole) return measured(*owners.sole) ? Where::foreign : Where::own;
    if (!owners.page) return Where::nowhere;
    // Of several owners; or beside an allocation, in its page.
    return measured(*owners.page) || owners.allocated ? Where::foreign : Where::nowhere;
}

WhereIs Memory::where_is(uint8_t gpu) const {
    std::unique_lock lock(tables_mutex_);
    std::shared_ptr<Table>& table = tables_[gpu];
    if (const uint64_t version = map_.version(); !table || table->version != version) {
        table = std::make_shared<Table>();
        table->version = version;
        table->entries = map_.entries();
    }
    if (!table->made && table->asked.load(std::memory_order_relaxed) >= table->entries) {
        const AddressMap::Stretches stretches = map_.stretches();
        std::vector<WhereTable::Stretch> list;
        for (const AddressMap::Stretch& stretch : stretches.list) list.push_back({stretch.begin, where(gpu, stretch.owners)});
        table = std::make_shared<Table>();
        table->version = stretches.version;
        table->made.emplace(list);
    }
    if (table->made) return [table](uint64_t address) { return table->made->at(address); };
    return [this, gpu, table](uint64_t address) {
        table->asked.fetch_add(1, std::memory_order_relaxed);
        return where(gpu, map_.owners_at(address));
    };
}

void Memory::end_publishing() {
    std::unique_lock lock(publishing_);
    contexts_.clear();
}

std::vector<PageRange> Memory::measured(std::vector<PageRange> ranges) const {
    for (PageRange& range : ranges)
        if (!host_ && range.owner == kOwnerHost) range.owner.reset();
    return ranges;
}

void Memory::publish(const MapChanges& changed) {
    if (changed.pages.empty()) return;
    const MapChanges changes{measured(changed.pages), changed.disowned};
    for (Context* context : contexts_) {
        const CurrentContext current(context->handle());
        if (!context->memory()->set_pages(changes))
            notify_("GPU " + std::to_string(context->gpu()) + " learned of an allocation too late: accesses to it may be missing");
    }
}

void Memory::write(const Object& object, const Maker& maker) {
    writer_->append(ObjectRow{object.id, object.address, object.bytes, object.owner, static_cast<u1>(object.kind), now_ns(), maker.thread,
                              maker.call, maker.stack, object.inside});
}

}  // namespace snoopie
