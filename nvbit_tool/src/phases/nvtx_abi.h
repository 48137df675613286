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
    int32_t reserved0;
    uint64_t payload;
    int32_t message_type;
    int32_t reserved1;
    const void* message;  // as message_type says
};
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

}  // namespace snoopie::nvtx
