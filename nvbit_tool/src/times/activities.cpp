#include "times/activities.h"

#include "base/demangle.h"
#include "trace/owners.h"

namespace snoopie {

namespace {

template <class T>
const T& as(const cupti::Record& record) {
    return reinterpret_cast<const T&>(record);
}

const char* name_of(cupti::Direction direction) {
    switch (direction) {
        case cupti::Direction::htod:
        case cupti::Direction::htoa:
            return "Memcpy HtoD";
        case cupti::Direction::dtoh:
        case cupti::Direction::atoh:
            return "Memcpy DtoH";
        case cupti::Direction::ptop:
            return "Memcpy PtoP";
        default:
            return "Memcpy";
    }
}

// Whose memory an end is: what is neither the host's nor managed is the GPU's that copies.
uint8_t owner_of(cupti::MemoryKind memory, uint32_t device) {
    switch (memory) {
        case cupti::MemoryKind::pageable:
        case cupti::MemoryKind::pinned:
            return kOwnerHost;
        case cupti::MemoryKind::managed:
        case cupti::MemoryKind::managed_static:
        case cupti::MemoryKind::unknown:
            return kOwnerUnknown;
        default:
            return static_cast<uint8_t>(device);
    }
}

}  // namespace

void Activities::add(const cupti::Record& record) {
    switch (record.kind) {
        case cupti::Kind::concurrent_kernel:
            return kernel(as<cupti::Kernel>(record));
        case cupti::Kind::memcpy:
            return copy(as<cupti::Memcpy>(record));
        case cupti::Kind::memcpy_peer:
            return copy(as<cupti::MemcpyPeer>(record));
        case cupti::Kind::memset:
            ++memsets_.number;
            memsets_.bytes += as<cupti::Memset>(record).bytes;
            return;
        case cupti::Kind::driver: {
            const auto& call = as<cupti::Call>(record);
            return calls_.called(call.correlation, {call.thread, false, call.start});
        }
    }
}

bool Activities::seen(uint32_t device) {
    if (device < gpus_) return true;
    ++homeless_;
    return false;
}

void Activities::kernel(const cupti::Kernel& kernel) {
    // In the order of their coming: ids rise in it.
    const auto called = waiting_.empty() ? calls_.find(kernel.correlation) : std::nullopt;
    if (called)
        write(kernel, *called);
    else
        waiting_.push_back({kernel, buffer_});
}

void Activities::end_of_buffer() {
    settle(buffer_ > 0 ? buffer_ - 1 : 0);
    ++buffer_;
}

void Activities::finish() { settle(buffer_ + 1); }

void Activities::settle(uint64_t before) {
    while (!waiting_.empty()) {
        const Waiting& first = waiting_.front();
        const auto called = calls_.find(first.kernel.correlation);
        if (!called && first.buffer >= before) return;
        write(first.kernel, called.value_or(LaunchTime{0, false, first.kernel.start}));
        waiting_.pop_front();
    }
}

uint32_t Activities::function(const char* name) {
    const auto [entry, is_new] = functions_.try_emplace(name ? name : "", static_cast<uint32_t>(functions_.size() + 1));
    if (is_new) {
        FunctionRow row;
        row.id = entry->second;
        row.name = writer_->intern(demangled(entry->first.c_str()));
        row.mangled = writer_->intern(entry->first);
        row.kernel = 1;
        writer_->append(row);
    }
    return entry->second;
}

void Activities::write(const cupti::Kernel& kernel, LaunchTime called) {
    if (!seen(kernel.device)) return;
    if (called.outside) {
        ++outside_;
        return;
    }
    LaunchRow row;
    row.id = ++launches_;
    row.function = function(kernel.name);
    row.gpu = static_cast<u1>(kernel.device);
    row.stream = kernel.stream;
    row.thread = called.thread;
    row.time = called.time;
    row.grid_x = static_cast<u4>(kernel.grid[0]);
    row.grid_y = static_cast<u4>(kernel.grid[1]);
    row.grid_z = static_cast<u4>(kernel.grid[2]);
    row.block_x = static_cast<u4>(kernel.block[0]);
    row.block_y = static_cast<u4>(kernel.block[1]);
    row.block_z = static_cast<u4>(kernel.block[2]);
    row.shared_memory = static_cast<u4>(kernel.dynamic_shared_memory);
    writer_->append(row);
    // A kernel without times was not measured: 0 is CUPTI's word for that.
    if (kernel.start != 0 && kernel.end >= kernel.start) writer_->append(SpanRow{row.id, kernel.start, kernel.end});
}

void Activities::copy(const cupti::Memcpy& copy) {
    if (!seen(copy.device)) return;
    CopyRow row;
    row.source = owner_of(static_cast<cupti::MemoryKind>(copy.source_kind), copy.device);
    row.destination = owner_of(static_cast<cupti::MemoryKind>(copy.destination_kind), copy.device);
    const auto direction = static_cast<cupti::Direction>(copy.copy_kind);
    const bool from_host =
        direction == cupti::Direction::htod || direction == cupti::Direction::htoa || direction == cupti::Direction::htoh;
    const bool to_host = direction == cupti::Direction::dtoh || direction == cupti::Direction::atoh || direction == cupti::Direction::htoh;
    if (row.source == kOwnerUnknown && from_host) row.source = kOwnerHost;
    if (row.destination == kOwnerUnknown && to_host) row.destination = kOwnerHost;
    row.bytes = copy.bytes;
    row.gpu = static_cast<u1>(copy.device);
    row.stream = copy.stream;
    row.start = copy.start;
    row.end = copy.end;
    if (const auto called = calls_.find(copy.correlation)) row.thread = called->thread;
    write(row, name_of(direction));
}

void Activities::copy(const cupti::MemcpyPeer& copy) {
    if (!seen(copy.device)) return;
    CopyRow row;
    const auto place = [this](uint32_t device) { return device < gpus_ ? static_cast<uint8_t>(device) : kOwnerUnknown; };
    row.source = place(copy.source_device);
    row.destination = place(copy.destination_device);
    row.bytes = copy.bytes;
    row.gpu = static_cast<u1>(copy.device);
    row.stream = copy.stream;
    row.start = copy.start;
    row.end = copy.end;
    write(row, name_of(cupti::Direction::ptop));
}

void Activities::write(CopyRow row, const char* call) {
    if (row.source == row.destination && row.source != kOwnerUnknown) {
        ++copies_within_.number;
        copies_within_.bytes += row.bytes;
        return;
    }
    row.id = ++copies_;
    row.call = writer_->intern(call);
    copied_ += row.bytes;
    writer_->append(row);
}

}  // namespace snoopie
