// What NVTX and a library that is injected into it agree on, in versions 2 and 3: written out here, so that the collector can be built
// without NVTX's headers. The names are those of nvtx3/nvtxDetail/nvtxTypes.h; a test compiles a program with the headers themselves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snoopie::nvtx {

struct EventAttributes {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t payloads;  // of kPayloadExtended: how many
    uint64_t payload;
    int32_t message_type;
    int32_t reserved1;
    const void* message;  // as message_type says
};
constexpr int32_t kPayloadExtended = static_cast<int32_t>(0xDFBD0009);
constexpr int32_t kMessageAscii = 1, kMessageUnicode = 2, kMessageRegistered = 3;

using FunctionPointer = void (*)();
using FunctionTable = FunctionPointer**;
enum Module : int { kCore = 1, kCore2 = 5 };

struct Callbacks {
    size_t struct_size;
    int (*get_module_function_table)(Module module, FunctionTable* table, unsigned* size);
};
constexpr uint32_t kCallbacks = 1;
using GetExportTable = const void* (*)(uint32_t id);

// Places in the table of kCore.
enum Core : unsigned {
    kMarkEx = 1,
    kMarkA,
    kMarkW,
    kRangeStartEx,
    kRangeStartA,
    kRangeStartW,
    kRangeEnd,
    kRangePushEx,
    kRangePushA,
    kRangePushW,
    kRangePop
};
// Places in the table of kCore2.
enum Core2 : unsigned {
    kDomainMarkEx = 1,
    kDomainRangeStartEx,
    kDomainRangeEnd,
    kDomainRangePushEx,
    kDomainRangePop,
    kDomainRegisterStringA = 10,
    kDomainRegisterStringW,
    kDomainCreateA,
    kDomainCreateW
};

// --- The extension for payloads, in version 3 alone ---

struct PayloadData {
    uint64_t schema;
    size_t bytes;
    const void* payload;
};

struct SchemaEntry {
    uint64_t flags;
    uint64_t type;
    const char* name;
    const char* description;
    uint64_t detail;
    uint64_t offset;
    const void* semantics;
    const void* reserved;
};
struct SchemaAttributes {
    uint64_t fields;  // those that are set: kSchema…
    const char* name;
    uint64_t type;
    uint64_t flags;
    const SchemaEntry* entries;
    size_t entry_count;
    size_t static_bytes;
    size_t pack_alignment;
    uint64_t id;
    void* extension;
};
constexpr uint64_t kSchemaEntries = 1 << 4, kSchemaEntryCount = 1 << 5, kSchemaId = 1 << 8;

struct EnumAttributes {
    uint64_t fields;
    const char* name;
    const void* entries;
    size_t entry_count;
    size_t bytes;
    uint64_t id;
    void* extension;
};
constexpr uint64_t kEnumId = 1 << 5;

// Ids that the tool gives begin here.
constexpr uint64_t kFirstDynamicId = uint64_t{1} << 32;

struct ModuleSegment {
    size_t id;
    size_t slot_count;
    intptr_t* slots;
};
struct ModuleInfo {
    uint16_t version;
    uint16_t size;
    uint16_t module;
    uint16_t compatibility;
    size_t segment_count;
    ModuleSegment* segments;
    void (*get_export)();
    const void* info;
};
constexpr uint16_t kPayloadModule = 2;

// Places in its segment.
enum PayloadSlot : unsigned {
    kSchemaRegister,
    kEnumRegister,
    kMarkPayload,
    kRangePushPayload,
    kRangePopPayload,
    kRangeStartPayload,
    kRangeEndPayload,
    kDomainIsEnabled
};

}  // namespace snoopie::nvtx
