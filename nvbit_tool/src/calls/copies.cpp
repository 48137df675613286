#include "calls/copies.h"

#include "base/clock.h"
#include "base/thread_id.h"
#include "calls/arrays.h"
#include "calls/copy_calls.h"
#include "driver/driver.h"
#include "driver/thread_stack.h"

namespace snoopie {

namespace {

// A call between its entry and its exit, with the rows that it writes if it succeeds.
struct Pending {
    nvbit_api_cuda_t cbid;
    std::vector<CopyRow> rows;
};
thread_local ThreadStack<Pending> pending;
// Of the copy under way that becomes a node of a graph; null: there is none.
thread_local CUstream captured_in = nullptr;

}  // namespace

Copies::Copies(TraceWriter* writer, const OwnerLookup* owners, Window* window, GraphStacks* stacks, std::function<uint32_t()> stack,
               std::function<bool()> recording, NotFollowed not_followed)
    : writer_(writer),
      owners_(owners),
      window_(window),
      stacks_(stacks),
      stack_(std::move(stack)),
      recording_(std::move(recording)),
      not_followed_(not_followed),
      graphs_(stacks, std::move(not_followed)) {}

Copied Copies::at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded) {
    graphs_.at_event(is_exit, cbid, params, succeeded);
    if (is_exit) {
        if (captured_in) captured(succeeded);
        end(cbid, name, succeeded);
        return {};
    }
    std::vector<CopyCall> copies = copy_calls(cbid, params);
    if (copies.empty()) copies = graphs_.launched(cbid, params);
    return copies.empty() || !recording_() ? Copied() : begin(context, cbid, copies);
}

std::optional<CopyRow> Copies::row(CUcontext context, const CopyCall& copy) {
    CopyEnd from = copy.source;
    // Where the driver last sent the pages. Until it did, they are taken to be with the host: a preferred location moves nothing.
    if (copy.kind == CopyKind::prefetch) from.owner = last_prefetched_to(from.address, copy.size).value_or(kOwnerHost);
    const uint8_t source = owner_of(from, *owners_, context);
    const uint8_t destination = owner_of(copy.destination, *owners_, context);
    if (copy.size == 0) return std::nullopt;
    CopyRow row;
    row.kind = static_cast<u1>(copy.kind);
    row.source = source;
    row.destination = destination;
    row.source_address = copy.source.address;
    row.destination_address = copy.destination.address;
    row.bytes = copy.size;
    if (copy.elements_of) {
        const uint64_t element = element_bytes(copy.elements_of);
        if (element == 0) {
            if (crosses(source, destination)) not_followed_("batched copies of arrays in block-compressed or planar formats");
            return std::nullopt;
        }
        row.bytes *= element;
    }
    row.stream = reinterpret_cast<u8>(copy.stream);
    row.thread = thread_id();
    row.stack = copy.stack;
    return row;
}

Copied Copies::begin(CUcontext context, nvbit_api_cuda_t cbid, const std::vector<CopyCall>& copies) {
    std::vector<CopyRow> rows;
    Copied copied;
    for (const CopyCall& copy : copies) {
        const auto one = row(context, copy);
        if (!one) continue;
        if (copy.kind != CopyKind::prefetch && copy.kind != CopyKind::graph) copied.add(one->source, one->destination, one->bytes);
        if (crosses(one->source, one->destination)) rows.push_back(*one);
    }
    if (rows.empty() && copied.bytes == 0) return copied;
    // All copies of a call are in one stream. Under capture they become nodes of a graph, and are counted when that is launched.
    const CopyCall& any = copies.front();
    if (any.asynchronous && capturing(any.stream)) {
        captured_in = any.stream;
        return {};
    }
    if (rows.empty()) return copied;
    if (!window_->open()) {
        window_->copies_outside += rows.size();
        return copied;
    }
    const uint8_t gpu = owners_->gpu_of(any.asynchronous ? context_of(any.stream, context) : context);
    const uint64_t start = now_ns();
    for (CopyRow& one : rows) {
        one.gpu = gpu;
        one.start = start;
    }
    pending.push({cbid, std::move(rows)});
    return copied;
}

void Copies::captured(bool succeeded) {
    const CUgraphNode node = succeeded ? last_captured(captured_in) : nullptr;
    captured_in = nullptr;
    if (node) stacks_->added(node, stack_());
}

void Copies::end(nvbit_api_cuda_t cbid, const char* name, bool succeeded) {
    if (pending.empty() || pending.top().cbid != cbid) return;
    std::vector<CopyRow> rows = std::move(pending.pop()->rows);
    if (!succeeded || !recording_()) return;
    const uint64_t now = now_ns();
    const uint32_t call = writer_->intern(name);
    const uint32_t stack = stack_();
    std::unique_lock lock(mutex_);
    for (CopyRow& one : rows) {
        one.id = static_cast<u4>(++count_);
        one.call = call;
        one.end = now;
        if (one.stack == 0) one.stack = stack;
        bytes_ += one.bytes;
    }
    writer_->append(rows);
}

}  // namespace snoopie
