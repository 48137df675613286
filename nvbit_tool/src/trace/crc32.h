// CRC-32 as in zlib: guards the index entries and the compressed bytes of a trace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snoopie {

uint32_t crc32(const void* bytes, size_t size);

}  // namespace snoopie
