// NVTX's injection library: NVTX loads the library that NVTX_INJECTION64_PATH names when a program first calls it, and asks for this
// function. It is called once for each library that has NVTX's headers compiled into it. A program that never calls NVTX never gets here.
#include <algorithm>
#include <atomic>
#include <cwchar>
#include <exception>
#include <string>
#include <vector>

#include "libraries/nccl_ranges.h"
#include "phases/nvtx_abi.h"
#include "phases/ranges.h"

namespace snoopie {

namespace {

using namespace nvtx;

// Handles of domains and of registered strings are their names.
using Domain = Name;

// Bookkeeping that runs out of memory costs the trace, not the program.
template <class Result, class Action>
Result attempt(Result otherwise, Action action) {
    try {
        return action(Ranges::of_process());
    } catch (const std::exception&) {
        return otherwise;
    }
}

std::string utf8(const wchar_t* text) {
    std::string bytes;
    for (; *text && bytes.size() <= Ranges::kMostText; ++text) {
        const auto c = static_cast<uint32_t>(*text);
        if (c < 0x80) {
            bytes += static_cast<char>(c);
        } else if (c < 0x800) {
            bytes += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
        } else if (c < 0x10000) {
            bytes += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
        } else {
            bytes += {static_cast<char>(0xF0 | (c >> 18 & 7)), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
                      static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
        }
    }
    return bytes;
}

Name name_of(Ranges& ranges, const char* text) { return ranges.name(text ? text : ""); }
Name name_of(Ranges& ranges, const wchar_t* text) { return ranges.name(text ? utf8(text) : ""); }
Name name_of(Ranges& ranges, const EventAttributes* event) {
    if (event && event->message && event->size >= sizeof(EventAttributes)) {
        if (event->message_type == kMessageAscii) return name_of(ranges, static_cast<const char*>(event->message));
        if (event->message_type == kMessageUnicode) return name_of(ranges, static_cast<const wchar_t*>(event->message));
        if (event->message_type == kMessageRegistered) return static_cast<Name>(event->message);
    }
    return ranges.name("");
}

// --- What NCCL says of its calls ---

bool is_nccl(Domain domain) { return domain && *domain == kNcclDomain; }

NcclPayload read(const PayloadData* payloads, size_t count) {
    NcclPayload said;
    for (size_t i = 0; payloads && i < count; ++i)
        said.add(NcclRanges::of_process().schemas().read(payloads[i].schema, payloads[i].payload, payloads[i].bytes));
    return said;
}
NcclPayload payload_of(const char*) { return {}; }
NcclPayload payload_of(const wchar_t*) { return {}; }
NcclPayload payload_of(const EventAttributes* event) {
    if (!event || event->size < sizeof(EventAttributes) || event->payload_type != kPayloadExtended || event->payloads < 0) return {};
    return read(reinterpret_cast<const PayloadData*>(event->payload), static_cast<size_t>(event->payloads));
}

// --- Ranges and marks ---

template <class Message>
void mark_in(Domain domain, Message message) {
    attempt(0, [&](Ranges& ranges) {
        ranges.mark(name_of(ranges, message), domain);
        return 0;
    });
}
template <class Message>
uint64_t start_in(Domain domain, Message message) {
    return attempt(uint64_t{0}, [&](Ranges& ranges) { return ranges.start(name_of(ranges, message), domain); });
}
template <class Message>
int push_in(Domain domain, Message message) {
    return attempt(-1, [&](Ranges& ranges) {
        const Name name = name_of(ranges, message);
        if (is_nccl(domain)) NcclRanges::of_process().begin(*name, payload_of(message));
        return ranges.push(name, domain);
    });
}
int pop_with(Domain domain, const PayloadData* payloads, size_t count) {
    return attempt(-1, [&](Ranges& ranges) {
        if (is_nccl(domain)) NcclRanges::of_process().end(read(payloads, count));
        return ranges.pop(domain);
    });
}
int pop_in(Domain domain) { return pop_with(domain, nullptr, 0); }
void end_in(Domain, uint64_t number) {
    attempt(0, [&](Ranges& ranges) {
        ranges.end(number);
        return 0;
    });
}

// In the default domain.
template <class Message>
void mark(Message message) {
    mark_in(nullptr, message);
}
template <class Message>
uint64_t start(Message message) {
    return start_in(nullptr, message);
}
template <class Message>
int push(Message message) {
    return push_in(nullptr, message);
}
int pop() { return pop_in(nullptr); }
void end(uint64_t number) { end_in(nullptr, number); }

template <class Text>
Name new_domain(Text text) {
    return attempt(Name{nullptr}, [&](Ranges& ranges) { return name_of(ranges, text); });
}
template <class Text>
Name new_string(Domain, Text text) {
    return new_domain(text);
}

// --- The extension for payloads ---

uint64_t new_id() {
    static std::atomic<uint64_t> next{kFirstDynamicId};
    return next++;
}

uint64_t register_schema(Domain domain, const SchemaAttributes* schema) {
    if (!schema) return 0;
    const uint64_t id = schema->fields & kSchemaId ? schema->id : new_id();
    constexpr uint64_t kNeeded = kSchemaEntries | kSchemaEntryCount;
    if (!is_nccl(domain) || (schema->fields & kNeeded) != kNeeded || !schema->entries) return id;
    return attempt(id, [&](Ranges&) {
        std::vector<NcclSchemas::Entry> entries;
        constexpr size_t kMostEntries = 64;
        for (size_t i = 0; i < std::min(schema->entry_count, kMostEntries); ++i)
            entries.push_back({schema->entries[i].name, schema->entries[i].type, schema->entries[i].offset});
        NcclRanges::of_process().schemas().add(id, entries);
        return id;
    });
}
uint64_t register_enum(Domain, const EnumAttributes* values) { return values && values->fields & kEnumId ? values->id : new_id(); }

// Ranges without a name: what they are called may be in their payload.
int push_payload(Domain domain, const PayloadData*, size_t) { return push_in(domain, ""); }
uint64_t start_payload(Domain domain, const PayloadData*, size_t) { return start_in(domain, ""); }
void end_payload(Domain domain, uint64_t number, const PayloadData*, size_t) { end_in(domain, number); }
uint8_t is_enabled(Domain) { return 1; }

// --- Where NVTX finds them ---

struct Entry {
    unsigned place;
    FunctionPointer function;
};
template <class Function>
Entry entry(unsigned place, Function* function) {
    return {place, reinterpret_cast<FunctionPointer>(function)};
}

template <size_t Size>
bool take(const Callbacks& callbacks, Module module, const Entry (&entries)[Size]) {
    FunctionTable table = nullptr;
    unsigned size = 0;
    if (!callbacks.get_module_function_table(module, &table, &size) || !table) return false;
    for (const auto& [place, function] : entries)
        if (place < size && table[place]) *table[place] = function;
    return true;
}

}  // namespace

}  // namespace snoopie

extern "C" int InitializeInjectionNvtx2(snoopie::nvtx::GetExportTable get_export_table) {
    using namespace snoopie;
    const auto* callbacks = static_cast<const Callbacks*>(get_export_table(kCallbacks));
    if (!callbacks || callbacks->struct_size < sizeof(Callbacks)) return 0;
    using Event = const EventAttributes*;
    using Text = const char*;
    using Wide = const wchar_t*;
    const Entry core[] = {entry(kMarkEx, &mark<Event>),
                          entry(kMarkA, &mark<Text>),
                          entry(kMarkW, &mark<Wide>),
                          entry(kRangeStartEx, &start<Event>),
                          entry(kRangeStartA, &start<Text>),
                          entry(kRangeStartW, &start<Wide>),
                          entry(kRangePushEx, &push<Event>),
                          entry(kRangePushA, &push<Text>),
                          entry(kRangePushW, &push<Wide>),
                          entry(kRangeEnd, &end),
                          entry(kRangePop, &pop)};
    const Entry core2[] = {entry(kDomainMarkEx, &mark_in<Event>),
                           entry(kDomainRangeStartEx, &start_in<Event>),
                           entry(kDomainRangeEnd, &end_in),
                           entry(kDomainRangePushEx, &push_in<Event>),
                           entry(kDomainRangePop, &pop_in),
                           entry(kDomainRegisterStringA, &new_string<Text>),
                           entry(kDomainRegisterStringW, &new_string<Wide>),
                           entry(kDomainCreateA, &new_domain<Text>),
                           entry(kDomainCreateW, &new_domain<Wide>)};
    // Version 1 has no domains.
    const bool taken = take(*callbacks, kCore, core);
    take(*callbacks, kCore2, core2);
    return taken;
}

// It is called for each extension that a library was compiled with. What it leaves out does nothing.
extern "C" int InitializeInjectionNvtxExtension(snoopie::nvtx::ModuleInfo* module) {
    using namespace snoopie;
    if (!module || module->size < sizeof(ModuleInfo) || module->module != kPayloadModule || module->segment_count < 1) return 0;
    const Entry entries[] = {entry(kSchemaRegister, &register_schema),  entry(kEnumRegister, &register_enum),
                             entry(kRangePushPayload, &push_payload),   entry(kRangePopPayload, &pop_with),
                             entry(kRangeStartPayload, &start_payload), entry(kRangeEndPayload, &end_payload),
                             entry(kDomainIsEnabled, &is_enabled)};
    const ModuleSegment& segment = module->segments[0];
    for (const auto& [place, function] : entries)
        if (place < segment.slot_count) segment.slots[place] = reinterpret_cast<intptr_t>(function);
    return 1;
}
